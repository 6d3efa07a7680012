/** How badly things go, as shares of 1 and milliseconds. Read at every draw, so it can change while a world runs. */
export interface FaultProfile {
  /** Requests that never arrive; the caller gets an error. */
  unreachable: number;
  /** Requests that are carried out and whose answer is lost; the caller cannot know. */
  lostReply: number;
  /** Requests that are carried out long after the caller has given up on them. */
  late: number;
  /** One way of a message takes up to this long. */
  delayMs: number;
  /** Messages of a feed that arrive only after up to this long. */
  feedLag: number;
  feedLagMs: number;
  /** Messages of a feed after which its connection breaks. */
  feedCut: number;
  /** Requests that the network delivers a second time. */
  repeated: number;
}

/** Nothing goes wrong and nothing takes long. */
export const calm: FaultProfile = {
  unreachable: 0,
  lostReply: 0,
  late: 0,
  delayMs: 2,
  feedLag: 0,
  feedLagMs: 0,
  feedCut: 0,
  repeated: 0,
};

/** Everything goes wrong now and then. */
export const storm: FaultProfile = {
  unreachable: 0.02,
  lostReply: 0.02,
  late: 0.01,
  delayMs: 20,
  feedLag: 0.02,
  feedLagMs: 3_000,
  feedCut: 0.005,
  repeated: 0.2,
};
