import type { FaultProfile, SimProcess, SimWorld, VolumeDisk } from '../../dev/simulation/index.js';
import type { ContainerMount, SimulatedEngine } from '../../pkg/agent/index.js';
import type { VolumeDriverName } from '../../pkg/agent/volumes/index.js';
import { type EndAgent, Seat } from './seat.js';
import { FENCER_LOOK_MS, SimFencer } from './sim-fencer.js';

/** The label by which a machine says where it is. */
export const COUNTRY = 'mooring.io/country';

/** What a machine has when it is set up. */
interface MachineParts {
  readonly name: string;
  /** Of its processes. */
  readonly title?: string;
  readonly engine: SimulatedEngine;
  readonly disk: VolumeDisk;
  readonly driver: VolumeDriverName;
  readonly files: Map<string, string>;
  readonly faults: FaultProfile;
  /** Starts its agent, in a new life. */
  readonly boot: (life: SimProcess, machine: Machine) => EndAgent;
}

/** One machine: its engine, its disk and its state folder outlive its agents. */
export class Machine {
  readonly name: string;
  readonly engine: SimulatedEngine;
  readonly seat: Seat;
  /** What its agent advertises from its next start on. */
  readonly labels: Record<string, string> = { [COUNTRY]: 'DE' };
  /** What its agent enrols with, from its next start on. */
  joinToken = '';
  /** What its agent has stored. */
  readonly files: Map<string, string>;
  /** Its volumes, and what each of its containers was made with, by their ids. */
  readonly disk: VolumeDisk;
  /** What keeps them. */
  readonly driver: VolumeDriverName;
  readonly mounts = new Map<string, readonly ContainerMount[]>();
  readonly fencer: SimFencer;
  readonly #world: SimWorld;
  #boots = 0;
  #isOff = false;
  #stillUntil = Number.NEGATIVE_INFINITY;
  #unwritableUntil = Number.NEGATIVE_INFINITY;

  constructor(
    world: SimWorld,
    { name, title = `agent-${name}`, engine, disk, driver, files, faults, boot }: MachineParts,
  ) {
    this.#world = world;
    this.name = name;
    this.engine = engine;
    this.disk = disk;
    this.driver = driver;
    this.files = files;
    const mayStart = () => !this.#isOff && !this.isStill;
    this.seat = new Seat(title, world, { faults, boot: life => boot(life, this), mayStart });
    this.fencer = new SimFencer(world, this);
  }

  /** Names what runs from one boot to the next: time counts only within one. */
  get boot(): string {
    return `${this.seat.name} ${this.#boots}`;
  }

  get isOff(): boolean {
    return this.#isOff;
  }

  /** It is switched off and on again: its agent starts a while later. */
  reboot(agentAfterMs: number): void {
    this.switchOff();
    this.switchOn(agentAfterMs);
  }

  /** Power goes: everything ends at once. */
  switchOff(): void {
    this.#isOff = true;
    this.#boots++;
    this.seat.life?.kill();
    this.fencer.forget();
    this.engine.restart();
    this.engine.setReachable(false);
  }

  /** Power comes back, and the agent starts a while later. */
  switchOn(agentAfterMs = 0): void {
    this.#isOff = false;
    this.engine.setReachable(true);
    this.seat.startLater(agentAfterMs);
  }

  /** The whole machine does nothing for a while and does not notice: its agent, its fencer and its containers. Time goes on meanwhile. */
  standStill(ms: number): void {
    this.#stillUntil = this.#world.time + ms;
    this.seat.life?.freeze(ms);
    this.seat.startLater(ms + 1); // one that died before is started when the machine goes on
  }

  get isStill(): boolean {
    return this.#world.time <= this.#stillUntil;
  }

  /**
   * Whether its fencer has had the time to look since the machine stood still. Physics: what stood still goes on in the moment that it
   * wakes, before anything beside it can have looked at a clock.
   */
  get isAwake(): boolean {
    return this.#world.time > this.#stillUntil + FENCER_LOOK_MS;
  }

  /** For how long its fencer does not look. */
  get stillForMs(): number {
    return Math.max(0, this.#stillUntil - this.#world.time);
  }

  /** Nothing can be written to the state folder of its agent for a while. */
  spoilState(ms: number): void {
    this.#unwritableUntil = this.#world.time + ms;
  }

  get canWriteState(): boolean {
    return this.#world.time >= this.#unwritableUntil;
  }
}
