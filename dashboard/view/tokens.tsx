import { useSignal } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { describeHolder, listTokenActions, sortTokens, type TokenView } from '../model/tokens.js';
import { ActionBar } from './action-bar.js';
import { useLiveItems } from './live-items.js';
import { Ago, CopiedCommand, Empty, Foreign, MoreRows, PAGE, Panel } from './parts.js';

/** Who may do what: tokens without their secrets, a form that mints one, and a button that ends one. */
export function Tokens({ session }: { readonly session: OpenSession }) {
  const tokens = useLiveItems<TokenView>(session, '/api/v1/tokens', ({ id }) => id);
  const shown = useSignal(PAGE);
  const rows = sortTokens(tokens.value ?? []);
  return (
    <>
      <h1>Tokens</h1>
      <MintForm session={session} />
      {!tokens.value && <p class="soft">Reading …</p>}
      {tokens.value && rows.length === 0 && <Empty title="The tenant has no token" />}
      {rows.length > 0 && (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                {['Id', 'Speaks for', 'Description', 'Created', 'By', 'Expires', ''].map(title => (
                  <th key={title} scope="col">
                    {title === '' ? <span class="hidden">What to do</span> : title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, shown.value).map(token => (
                <tr key={token.id}>
                  <th scope="row" class="whole">
                    <code>
                      <Foreign text={token.id} />
                    </code>
                  </th>
                  <td>
                    <Foreign text={describeHolder(token)} />
                  </td>
                  <td>
                    <Foreign text={token.description} />
                  </td>
                  <td>
                    <Ago at={token.createdAt} />
                  </td>
                  <td>
                    <code>
                      <Foreign text={token.createdBy} />
                    </code>
                  </td>
                  <td>
                    <Ago at={token.expiresAt} />
                  </td>
                  <td>
                    <ActionBar session={session} actions={listTokenActions(token, session.who)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <MoreRows shown={shown} all={rows.length} />
    </>
  );
}

const DAY_SECONDS = 86_400;

/** Mints a token and shows its text until the page is left, and never again. */
function MintForm({ session }: { readonly session: OpenSession }) {
  const minted = useSignal('');
  const problem = useSignal('');
  const mint = async (form: HTMLFormElement) => {
    const read = (name: string) => (form.elements.namedItem(name) as HTMLInputElement).value;
    [minted.value, problem.value] = ['', ''];
    const body = {
      role: read('role'),
      description: read('description'),
      expiresInSeconds: Math.round(Number(read('days')) * DAY_SECONDS),
    };
    try {
      minted.value = (await session.connection.send<{ token: string }>('POST', '/api/v1/tokens', body)).token;
      form.reset();
    } catch (thrown) {
      problem.value = thrown instanceof Error ? thrown.message : String(thrown);
    }
  };
  return (
    <Panel title="Mint a token">
      <form
        class="write"
        autocomplete="off"
        onSubmit={event => {
          event.preventDefault();
          void mint(event.currentTarget);
        }}
      >
        <label>
          Role{' '}
          <select name="role">
            <option value="viewer">viewer: looks</option>
            <option value="deployer">deployer: changes deployments</option>
            <option value="admin">admin: everything of the tenant</option>
          </select>
        </label>
        <label>
          Description <input name="description" maxLength={200} placeholder="for the build server" />
        </label>
        <label>
          Days <input name="days" type="number" min="1" max="365" value="90" required />
        </label>
        <button type="submit" class="primary">
          Mint
        </button>
      </form>
      {minted.value !== '' && (
        <div class="notice" role="status">
          <p>Copy it now: it is not shown again, and nowhere stored.</p>
          <CopiedCommand text={minted.value} />
        </div>
      )}
      <p class="problem" role="alert">
        <Foreign text={problem.value} />
      </p>
    </Panel>
  );
}
