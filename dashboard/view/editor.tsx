import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import { RefusedCall, type ShownRejection } from '../data/connection.js';
import type { OpenSession } from '../data/session.js';
import {
  describeRecreated,
  draftManifest,
  listLineProblems,
  readManifestText,
  toManifestText,
  toReplacingBody,
} from '../model/manifest.js';
import type { DeploymentView, NodeView } from '../model/views.js';
import { Foreign, Panel } from './parts.js';
import { YamlArea } from './yaml-area.js';

const TYPING_MS = 400;

/** What a dry run answers, as far as it is shown. */
interface DryRunAnswer {
  readonly change: string;
  readonly diff: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[];
  readonly warnings: readonly { readonly field: string; readonly message: string }[];
  readonly recreated?: readonly { readonly replica: number; readonly nodeId: string | null }[];
  readonly placement?: { readonly able: number; readonly next: readonly string[]; readonly unplaced: number };
}

/** Declares a deployment, or changes one. Every pause in typing is a dry run; nothing is stored before "Apply". */
export function Editor({ session, name }: { readonly session: OpenSession; readonly name?: string }) {
  const stored = name === undefined ? undefined : session.deployments.value.items.get(name);
  const begun = useSignal<DeploymentView | undefined>(stored);
  const text = useSignal(stored ? toManifestText(stored) : draftManifest(session.deployments.peek().items));
  const preview = useSignal<DryRunAnswer | undefined>(undefined);
  const refusals = useSignal<readonly ShownRejection[]>([]);
  const failure = useSignal('');
  const isBusy = useSignal(false);
  const manifest = useComputed(() => readManifestText(text.value));

  const send = (isDryRun: boolean, signal?: AbortSignal) => {
    const { value } = manifest.peek();
    const body = toReplacingBody(value ?? {}, begun.peek());
    const query = isDryRun ? '?dryRun=true' : '';
    const { connection } = session;
    const base = '/api/v1/deployments';
    const before = begun.peek();
    return before
      ? connection.send<DryRunAnswer>(
          'PUT',
          `${base}/${encodeURIComponent(before.name)}${query}`,
          body,
          before.metadata.revision,
          signal,
        )
      : connection.send<DryRunAnswer>('POST', `${base}${query}`, body, undefined, signal);
  };
  const take = (thrown: unknown) => {
    preview.value = undefined;
    if (thrown instanceof RefusedCall && thrown.rejections.length > 0) refusals.value = thrown.rejections;
    else failure.value = thrown instanceof Error ? thrown.message : String(thrown);
  };
  useSignalEffect(() => {
    const { value } = manifest.value;
    const ended = new AbortController();
    if (value === undefined) {
      [preview.value, refusals.value] = [undefined, []];
      return undefined;
    }
    const run = async () => {
      try {
        const answer = await send(true, ended.signal);
        [preview.value, refusals.value, failure.value] = [answer, [], ''];
      } catch (thrown) {
        if (!ended.signal.aborted) take(thrown);
      }
    };
    const timer = setTimeout(() => void run(), TYPING_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  const apply = async () => {
    isBusy.value = true;
    try {
      const declared = manifest.peek().value?.['name'];
      await send(false);
      location.hash = `#/deployments/${encodeURIComponent(typeof declared === 'string' ? declared : (name ?? ''))}`;
    } catch (thrown) {
      take(thrown);
    } finally {
      isBusy.value = false;
    }
  };
  const problems = useComputed(() => listLineProblems(manifest.value, refusals.value));
  return (
    <>
      <p class="crumbs">
        <a href="#/deployments">Deployments</a>
      </p>
      <h1>{name === undefined ? 'New deployment' : <Foreign text={`Change ${name}`} />}</h1>
      <YamlArea text={text.value} problems={problems.value} onText={typed => (text.value = typed)} />
      <p class="problem" role="alert">
        <Foreign text={failure.value} />
      </p>
      <Preview answer={preview.value} nodes={session.nodes.value} />
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={!preview.value || isBusy.value || preview.value.change === 'none'}
          onClick={() => void apply()}
        >
          Apply
        </button>
        <a href={name === undefined ? '#/deployments' : `#/deployments/${encodeURIComponent(name)}`}>
          Leave without a change
        </a>
      </div>
    </>
  );
}

function Preview({
  answer,
  nodes,
}: {
  readonly answer: DryRunAnswer | undefined;
  readonly nodes: ReadonlyMap<string, NodeView>;
}) {
  if (!answer) return null;
  const { change, diff, warnings, recreated = [], placement } = answer;
  return (
    <Panel title={change === 'none' ? 'Nothing would change' : `What "Apply" would do: ${change}`}>
      {diff.length > 0 && change === 'update' && (
        <ul class="diff">
          {diff.map(({ op, path, value }) => (
            <li key={`${op} ${path}`}>
              <code>
                {op} <Foreign text={path} />
                {op !== 'remove' && (
                  <>
                    {' = '}
                    <Foreign text={JSON.stringify(value)} />
                  </>
                )}
              </code>
            </li>
          ))}
        </ul>
      )}
      {change === 'update' && (
        <p>
          <Foreign text={describeRecreated(recreated, nodes.values())} />
        </p>
      )}
      {placement && placement.next.length > 0 && (
        <p>
          New replicas would go to <Foreign text={placement.next.join(', ')} />.
        </p>
      )}
      {placement && placement.unplaced > 0 && <p class="problem">{placement.unplaced} replicas would find no node.</p>}
      {warnings.map(({ field, message }) => (
        <p key={`${field} ${message}`} class="warning">
          <Foreign text={`${field}: ${message}`} />
        </p>
      ))}
    </Panel>
  );
}
