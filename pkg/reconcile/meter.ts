/** How a reconcile ended. */
export type Ending = 'done' | 'again' | 'retry' | 'refused';

/** What the runtime tells about its loops. Implemented with real metrics by the process, and by nothing in most tests. */
export interface LoopMeter {
  /** Keys that wait to be worked on. */
  depth(loop: string, keys: number): void;
  /** A key has waited this long between being added and being worked on. */
  waited(loop: string, ms: number): void;
  /** A reconcile ended after this long. `retry` will be tried again later, `refused` not until its object changes. */
  reconciled(loop: string, ending: Ending, ms: number): void;
  /** This process began or ceased to lead the loop. */
  leading(loop: string, leads: boolean): void;
}

/** Measures nothing. */
export const noMeter: LoopMeter = {
  depth: () => undefined,
  waited: () => undefined,
  reconciled: () => undefined,
  leading: () => undefined,
};
