import { useComputed, useSignal, useSignalEffect } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { mayDo } from '../model/actions.js';
import { toSecretBody } from '../model/secret-body.js';
import type { ListedSecret } from '../model/views.js';
import { Empty, Foreign, Panel } from './parts.js';

/** Credentials: where they are and who uses them, and a form that only writes. */
export function Secrets({ session }: { readonly session: OpenSession }) {
  const secrets = useSignal<readonly ListedSecret[] | undefined>(undefined);
  // The list has no watch: it is read again when there is an event about a credential, or a deployment has changed.
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

/** Writes the next version of a credential, of one key or several. The values are emptied whatever comes of it; none is ever shown. */
function WriteForm({ session, onWritten }: { readonly session: OpenSession; readonly onWritten: () => void }) {
  const outcome = useSignal({ text: '', isBad: false });
  const count = useSignal(1);
  const write = async (form: HTMLFormElement) => {
    const find = (name: string) => form.elements.namedItem(name) as HTMLInputElement;
    const path = find('path').value.trim();
    const rows = Array.from({ length: count.value }, (_, at) => {
      const value = find(`value-${at}`);
      const row = {
        key: find(`key-${at}`).value.trim(),
        value: value.value,
        isGenerated: find(`generate-${at}`).checked,
      };
      value.value = '';
      return row;
    });
    try {
      const [namespace = '', resource = ''] = path.split('/');
      const url = `/api/v1/secrets/${encodeURIComponent(namespace)}/${encodeURIComponent(resource)}`;
      await session.connection.send('PUT', url, toSecretBody(rows));
      outcome.value = { text: `${path}: the next version is written`, isBad: false };
      form.reset();
      count.value = 1;
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
        {Array.from({ length: count.value }, (_, at) => (
          <KeyRow key={at} at={at} />
        ))}
        <button type="button" onClick={() => count.value++}>
          Add a key
        </button>
        {count.value > 1 && (
          <button type="button" onClick={() => count.value--}>
            Remove the last
          </button>
        )}
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

/** One key: a value that is typed, or one that the platform makes. */
function KeyRow({ at }: { readonly at: number }) {
  const isGenerated = useSignal(false);
  const nth = at === 0 ? '' : ` ${at + 1}`;
  return (
    <>
      <label>
        {`Key${nth}`} <input name={`key-${at}`} required placeholder="password" spellcheck={false} />
      </label>
      <label>
        {`Value${nth}`}{' '}
        <input
          name={`value-${at}`}
          type="password"
          autocomplete="new-password"
          spellcheck={false}
          disabled={isGenerated.value}
        />
      </label>
      <label class="check">
        <input
          name={`generate-${at}`}
          type="checkbox"
          onChange={event => (isGenerated.value = event.currentTarget.checked)}
        />{' '}
        {at === 0 ? 'generate it instead' : `generate key${nth} instead`}
      </label>
    </>
  );
}
