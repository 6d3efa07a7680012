import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import type { LineProblem } from '../model/manifest.js';
import { toFixedText } from '../model/manifest-fix.js';
import { showControls } from '../model/text.js';
import { breakLine, findEdit, indent, outdent } from '../model/typing.js';
import { applyEdit, type AreaKey, Proposals, useOffer } from './proposals.js';

const FEWEST_LINES = 16;
const MOST_LINES = 40;

/** The text with numbered lines and the keys of an editor, and beneath it what is wrong, line by line. */
export function YamlArea({
  text,
  problems,
  onText,
}: {
  readonly text: string;
  readonly problems: readonly LineProblem[];
  readonly onText: (text: string) => void;
}) {
  const gutter = useRef<HTMLPreElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const scrolled = useSignal<readonly [number, number]>([0, 0]);
  const offer = useOffer();
  const lines = text.split('\n');
  const wrong = new Set(problems.map(({ line }) => line));
  const jump = (line: number) => {
    const before = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    area.current?.focus();
    area.current?.setSelectionRange(before, before + (lines[line - 1]?.length ?? 0));
  };
  const fix = (steps: NonNullable<LineProblem['fix']>) => {
    const fixed = toFixedText(text, steps);
    if (area.current && fixed !== undefined) applyEdit(area.current, findEdit(text, fixed));
  };
  return (
    <div class="editor">
      <div class="editor-frame">
        <div class="editor-text">
          <pre class="gutter" ref={gutter} aria-hidden="true">
            {lines.map((_, at) => (
              <span key={at} class={wrong.has(at + 1) ? 'wrong' : ''}>
                {wrong.has(at + 1) ? '● ' : ''}
                {at + 1}
                {'\n'}
              </span>
            ))}
          </pre>
          <textarea
            ref={area}
            aria-label="The deployment as YAML"
            aria-describedby="editor-keys"
            aria-autocomplete="list"
            aria-controls={offer.shown.value && 'proposals'}
            aria-activedescendant={offer.shown.value && `proposal-${offer.at.value}`}
            spellcheck={false}
            wrap="off"
            rows={Math.min(MOST_LINES, Math.max(FEWEST_LINES, lines.length + 1))}
            value={text}
            onInput={event => {
              onText(event.currentTarget.value);
              // What is pasted or put there by a fix is no word that has begun.
              const isTyped = event.inputType === 'insertText' && event.data?.length === 1;
              if (isTyped || event.inputType === 'deleteContentBackward') offer.open(event.currentTarget, false);
              else offer.close();
            }}
            onKeyDown={event => {
              if (!event.isComposing && (offer.press(event) || pressEditorKey(event, offer.open)))
                event.preventDefault();
            }}
            onBlur={offer.close}
            onMouseDown={offer.close}
            onScroll={({ currentTarget: { scrollTop, scrollLeft } }) => {
              scrolled.value = [scrollTop, scrollLeft];
              if (gutter.current) gutter.current.scrollTop = scrollTop;
            }}
          />
        </div>
        {offer.shown.value && (
          <Proposals
            text={text}
            completion={offer.shown.value}
            at={offer.at.value}
            scrolled={scrolled.value}
            onTake={at => area.current && offer.take(area.current, at)}
          />
        )}
      </div>
      <p class="soft" id="editor-keys">
        <kbd>Tab</kbd> and <kbd>Shift</kbd> <kbd>Tab</kbd> indent, <kbd>Ctrl</kbd> <kbd>Space</kbd> proposes fields,{' '}
        <kbd>Ctrl</kbd> <kbd>Z</kbd> takes back, also a fix, <kbd>Esc</kbd> leaves the text.
      </p>
      <ul class="problems" aria-label="What is refused">
        {problems.map(({ line, code, fix: steps, instead, text: what }) => (
          <li key={`${line} ${code} ${what}`}>
            <button type="button" onClick={() => jump(line)}>
              line {line}
            </button>{' '}
            {code !== undefined && (
              <a href={`/docs/codes/${encodeURIComponent(code)}`} target="_blank" rel="noreferrer">
                {code}
              </a>
            )}{' '}
            {showControls(what)} {instead && <a href={instead.href}>{showControls(instead.text)}</a>}{' '}
            {steps && (
              <button type="button" onClick={() => fix(steps)}>
                Fix
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The keys of an editor, where nothing is proposed. Whether it was one. */
function pressEditorKey(event: AreaKey, open: (area: HTMLTextAreaElement, isAsked: boolean) => void): boolean {
  const { key, shiftKey, ctrlKey, altKey, metaKey, currentTarget: area } = event;
  if (ctrlKey && key === ' ') return open(area, true), true;
  if (ctrlKey || altKey || metaKey) return false;
  const selection = { text: area.value, start: area.selectionStart, end: area.selectionEnd };
  if (key === 'Tab') return applyEdit(area, shiftKey ? outdent(selection) : indent(selection)), true;
  if (key === 'Enter') return applyEdit(area, breakLine(selection)), true;
  return false;
}
