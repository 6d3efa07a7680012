import { useSignal, useSignalEffect } from '@preact/signals';

import schema from '../../crds/manifests/deployment.schema.json' with { type: 'json' };
import { complete, type Completion } from '../model/completion.js';
import type { TextEdit } from '../model/typing.js';

const LEAVES_A_WORD: readonly string[] = ['ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageUp', 'PageDown'];

/** A key that was pressed in the text. */
export type AreaKey = KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement };

/** Changes a piece of what was typed so that the browser can take it back, which is so for what an old command inserts only. */
export function applyEdit(area: HTMLTextAreaElement, { from, to, insert, select }: TextEdit): void {
  area.focus();
  area.setSelectionRange(from, to);
  // oxlint-disable-next-line typescript/no-deprecated
  const isDone = document.execCommand(insert === '' ? 'delete' : 'insertText', false, insert);
  if (!isDone && (from !== to || insert !== '')) {
    area.setRangeText(insert, from, to, 'end');
    area.dispatchEvent(new InputEvent('input', { bubbles: true }));
  }
  area.setSelectionRange(...select);
}

/** What is proposed at the caret, and which of it is chosen. */
export function useOffer() {
  const shown = useSignal<Completion | undefined>(undefined);
  const at = useSignal(0);
  const close = () => (shown.value = undefined);
  const open = (area: HTMLTextAreaElement, isAsked: boolean) => {
    const { value, selectionStart: start, selectionEnd: end } = area;
    at.value = 0;
    shown.value = start === end ? complete(value, start, schema, isAsked) : undefined;
  };
  const take = (area: HTMLTextAreaElement, chosen: number) => {
    const { from, to, proposals } = shown.value!;
    const insert = proposals[chosen]!.insert;
    const end = from + insert.length;
    applyEdit(area, { from, to, insert, select: [end, end] });
    open(area, true);
  };
  const press = (event: AreaKey): boolean => {
    const { key, currentTarget: area } = event;
    if (!shown.value) return false;
    const count = shown.value.proposals.length;
    if (key === 'ArrowDown') at.value = (at.value + 1) % count;
    else if (key === 'ArrowUp') at.value = (at.value + count - 1) % count;
    else if (key === 'Enter' || key === 'Tab') take(area, at.value);
    else if (key === 'Escape') {
      close();
      event.stopPropagation(); // it would leave the text
    } else {
      if (LEAVES_A_WORD.includes(key)) close();
      return false;
    }
    return true;
  };
  useSignalEffect(() => {
    document.getElementById(`proposal-${at.value}`)?.scrollIntoView({ block: 'nearest' });
  });
  return { shown, at, open, close, take, press };
}

export function Proposals({
  text,
  completion: { from, proposals },
  at,
  scrolled: [top, left],
  onTake,
}: {
  readonly text: string;
  readonly completion: Completion;
  readonly at: number;
  readonly scrolled: readonly [number, number];
  readonly onTake: (at: number) => void;
}) {
  const before = text.slice(0, from).split('\n');
  const place = {
    top: `calc(0.7rem + ${before.length * 1.5}em - ${top}px)`,
    left: `min(calc(4.6rem + ${before.at(-1)!.length}ch - ${left}px), 45%)`,
  };
  return (
    <ul class="proposals" id="proposals" role="listbox" aria-label="What may stand here" style={place}>
      {proposals.map(({ name, about }, each) => (
        <li
          key={name}
          id={`proposal-${each}`}
          role="option"
          tabIndex={-1}
          aria-selected={each === at}
          onMouseDown={event => (event.preventDefault(), onTake(each))}
        >
          {name} <span class="soft">{about}</span>
        </li>
      ))}
    </ul>
  );
}
