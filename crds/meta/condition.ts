/** One aspect of an object's state, in the shape that Kubernetes made common. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** One word for programs. */
  readonly reason: string;
  /** One sentence for people. */
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}
