/**
 * For a Node that computes for seconds or minutes and ends. A function has to run four times as much as by default before V8
 * optimises it: most of what it would optimise sooner is not run long enough afterwards to pay for that.
 */
export const briefOptions: readonly string[] = ['--interrupt-budget=540672'];
