import { type Signal, signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { formatAgo, formatMoment, showControls, splitCommands } from '../model/text.js';
import type { Tone } from '../model/views.js';

/** The time, for ages: the same for all of them. */
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 5_000);

/** Text that others have written: as text, and with what cannot be seen shown. */
export function Foreign({ text }: { readonly text: string }) {
  return <bdi>{showControls(text)}</bdi>;
}

export function Pill({ tone, text }: { readonly tone: Tone; readonly text: string }) {
  return <span class={`pill ${tone}`}>{text}</span>;
}

/** How long ago something was; in full when it is pointed at. */
export function Ago({ at }: { readonly at: string | null | undefined }) {
  if (!at) return <span class="soft">-</span>;
  // What has just happened is drawn between two ticks, and is not to come.
  const drawnAt = Math.max(now.value, Date.now());
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {formatAgo(at, drawnAt)}
    </time>
  );
}

/** A command to type, copied by a click. */
export function CopiedCommand({ text }: { readonly text: string }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), 1_500);
  };
  return (
    <button type="button" class="command" title="Copy this command" onClick={() => void copy()}>
      <code>{text}</code>
      <span class="copied" aria-live="polite">
        {isCopied.value ? 'copied' : ''}
      </span>
    </button>
  );
}

/** A remedy: its commands can be copied. */
export function Help({ text }: { readonly text: string }) {
  return (
    <p class="help">
      {splitCommands(text).map(piece =>
        piece.isCommand ? <CopiedCommand text={piece.text} /> : <span>{showControls(piece.text)}</span>,
      )}
    </p>
  );
}

export function Bar({
  percent,
  label,
  text,
}: {
  readonly percent: number;
  readonly label: string;
  readonly text: string;
}) {
  return (
    <div class="bar-row">
      <span class="bar-label">{label}</span>
      <span class="bar" role="img" aria-label={`${label}: ${text}, ${percent} percent`}>
        <span class={percent >= 90 ? 'fill full' : 'fill'} style={{ width: `${percent}%` }} />
      </span>
      <span class="bar-text">{text}</span>
    </div>
  );
}

/** What is shown where there is nothing: why, and what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Panel({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** What a program wrote, line by line. */
export function Output({
  text,
  isWithheld,
}: {
  readonly text?: string | undefined;
  readonly isWithheld?: boolean | undefined;
}) {
  if (isWithheld) return <p class="soft">Its output is not shown: it might hold the value of a secret.</p>;
  if (!text) return null;
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
  return (
    <pre class="output" tabIndex={0}>
      {showControls(text)}
    </pre>
  );
}

/** How many rows of a list are drawn at first, and more at a time. */
export const PAGE = 100;

/** Draws more of a long list. */
export function MoreRows({ shown, all }: { readonly shown: Signal<number>; readonly all: number }) {
  if (all <= shown.value) return null;
  return (
    <button type="button" class="more" onClick={() => (shown.value += PAGE)}>
      Show {Math.min(PAGE, all - shown.value)} more of {all - shown.value}
    </button>
  );
}
