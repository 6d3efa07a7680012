/** What a piece of work comes to, or `late` when the signal is aborted first. The work goes on unheard. */
export function within<T>(signal: AbortSignal, work: Promise<T>, late: T): Promise<T> {
  if (signal.aborted) {
    work.catch(() => undefined);
    return Promise.resolve(late);
  }
  return new Promise((resolve, reject) => {
    const giveUp = () => resolve(late);
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
