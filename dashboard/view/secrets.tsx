import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { mayDo } from '../model/actions.js';
import { Empty, Foreign, Panel } from './parts.js';

/** A credential as the list shows it. No answer of the API has a value. */
interface ListedSecret {
  readonly path: string;
  readonly version: number | null;
  readonly deployments: readonly string[];
  readonly jobs?: readonly string[];
}

/** Credentials: where they are and who uses them, and a form that only writes. */
export function Secrets({ session }: { readonly session: OpenSession }) {
  const secrets = useSignal<readonly ListedSecret[] | undefined>(undefined);
  // The list has no watch: it is read again when an event tells of a credential, or a deployment has changed.
  const cause = useComputed(() => {
    const events = [...session.events.value.items.values()].filter(({ subject }) => subject.kind === 'Secret');
    return `${events.length} ${events.at(-1)?.id} ${session.deployments.value.cursor}`;
  });
  const written = useSignal(0);
  useSignalEffect(() => {
    void cause.value;
    void written.value;
    const ended = new AbortController();
    const read = async () => {
      const { items } = await session.connection.get<{ items: readonly ListedSecret[] }>(
        '/api/v1/secrets?limit=500',
        ended.signal,
      );
      secrets.value = items;
    };
    const timer = setTimeout(() => void read().catch(() => undefined), 300);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  return (
    <>
      <h1>Secrets</h1>
      {mayDo(session.who, 'deployer') && <WriteForm session={session} onWritten={() => written.value++} />}
      {secrets.value?.length === 0 && (
        <Empty title="No credential is stored or referred to">
          <p>Deployments refer to credentials by path; values reach a container once, when it is created.</p>
        </Empty>
      )}
      {secrets.value && secrets.value.length > 0 && (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">Path</th>
                <th scope="col">Version</th>
                <th scope="col">Used by</th>
              </tr>
            </thead>
            <tbody>
              {secrets.value.map(({ path, version, deployments, jobs = [] }) => (
                <tr key={path}>
                  <th scope="row">
                    <code>
                      <Foreign text={path} />
                    </code>
                  </th>
                  <td>{version ?? 'not stored here'}</td>
                  <td>
                    {deployments.map(name => (
                      <a key={name} class="line" href={`#/deployments/${encodeURIComponent(name)}`}>
                        <Foreign text={name} />
                      </a>
                    ))}
                    {jobs.map(name => (
                      <span key={name} class="line">
                        job <Foreign text={name} />
                      </span>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** Writes the next version of a credential. The fields are emptied whatever comes of it; no value is ever shown. */
function WriteForm({ session, onWritten }: { readonly session: OpenSession; readonly onWritten: () => void }) {
  const outcome = useSignal({ text: '', isBad: false });
  const write = async (form: HTMLFormElement) => {
    const read = (name: string) => (form.elements.namedItem(name) as HTMLInputElement).value;
    const [path, key, value] = [read('path').trim(), read('key').trim(), read('value')];
    const isGenerated = (form.elements.namedItem('generate') as HTMLInputElement).checked;
    (form.elements.namedItem('value') as HTMLInputElement).value = '';
    const body = isGenerated ? { generate: { keys: [key] } } : { values: { [key]: value } };
    try {
      const [namespace = '', resource = ''] = path.split('/');
      await session.connection.send(
        'PUT',
        `/api/v1/secrets/${encodeURIComponent(namespace)}/${encodeURIComponent(resource)}`,
        body,
      );
      outcome.value = { text: `${path}: the next version is written`, isBad: false };
      form.reset();
      onWritten();
    } catch (thrown) {
      outcome.value = { text: thrown instanceof Error ? thrown.message : String(thrown), isBad: true };
    }
  };
  return (
    <Panel title="Write a credential">
      <form
        class="write"
        autocomplete="off"
        onSubmit={event => {
          event.preventDefault();
          void write(event.currentTarget);
        }}
      >
        <label>
          Path <input name="path" required placeholder="deployments/web-db" spellcheck={false} />
        </label>
        <label>
          Key <input name="key" required placeholder="password" spellcheck={false} />
        </label>
        <label>
          Value <input name="value" type="password" autocomplete="new-password" spellcheck={false} />
        </label>
        <label class="check">
          <input name="generate" type="checkbox" /> generate it instead
        </label>
        <button type="submit" class="primary">
          Write
        </button>
      </form>
      <p class={outcome.value.isBad ? 'problem' : 'soft'} role="status">
        <Foreign text={outcome.value.text} />
      </p>
      <p class="soft">
        Other keys of the credential are not kept: a write is a whole version. It is never shown again.
      </p>
    </Panel>
  );
}
