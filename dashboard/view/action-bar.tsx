import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import type { OpenSession } from '../data/session.js';
import type { Action } from '../model/actions.js';
import { Foreign } from './parts.js';

/** Buttons that change something, and what came of it. What cannot be undone is asked for twice. */
export function ActionBar({
  session,
  actions,
  onDone,
  children,
}: {
  readonly session: OpenSession;
  readonly actions: readonly Action[];
  /** Called after a change was accepted. */
  readonly onDone?: () => void;
  readonly children?: (run: (action: Action) => void) => ComponentChildren;
}) {
  const asked = useSignal<Action | undefined>(undefined);
  const outcome = useSignal({ text: '', isBad: false });
  const isBusy = useSignal(false);
  const run = async (action: Action) => {
    asked.value = undefined;
    isBusy.value = true;
    try {
      await session.connection.send(action.method, action.path, action.body, action.revision);
      outcome.value = { text: `${action.label}: accepted`, isBad: false };
      onDone?.();
    } catch (thrown) {
      outcome.value = { text: thrown instanceof Error ? thrown.message : String(thrown), isBad: true };
    } finally {
      isBusy.value = false;
    }
  };
  const preview = async (action: Action, describe: (answer: unknown) => string) => {
    isBusy.value = true;
    try {
      const { method, path, body, revision } = action;
      const answer = await session.connection.send(method, `${path}?dryRun=true`, body, revision);
      outcome.value = { text: '', isBad: false };
      asked.value = { ...action, question: describe(answer) };
    } catch (thrown) {
      outcome.value = { text: thrown instanceof Error ? thrown.message : String(thrown), isBad: true };
    } finally {
      isBusy.value = false;
    }
  };
  const press = (action: Action) => {
    if (action.describePreview) void preview(action, action.describePreview);
    else if (action.question) asked.value = action;
    else void run(action);
  };
  return (
    <div class="actions">
      {children?.(press)}
      {actions.map(action => (
        <button
          key={action.label}
          type="button"
          class={action.isNext ? 'primary' : ''}
          disabled={isBusy.value}
          onClick={() => press(action)}
        >
          {action.label}
        </button>
      ))}
      {asked.value && (
        <span class="question" role="alertdialog" aria-label="Are you sure?">
          <Foreign text={asked.value.question ?? ''} />{' '}
          <button type="button" class="danger" onClick={() => void run(asked.value!)}>
            Yes, {asked.value.label.toLowerCase()}
          </button>{' '}
          <button type="button" onClick={() => (asked.value = undefined)}>
            No
          </button>
        </span>
      )}
      <span class={outcome.value.isBad ? 'problem' : 'soft'} role="status">
        <Foreign text={outcome.value.text} />
      </span>
    </div>
  );
}
