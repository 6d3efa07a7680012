/** A text that cannot drive a terminal: what a server or a container says is not ours to trust. */
export function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
