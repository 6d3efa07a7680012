import { useSignal } from '@preact/signals';

import {
  type PendingSignIn,
  chooseTenant,
  signOutMessage,
  offeredCode,
  signIn,
  signInWithLink,
  signOut,
} from '../data/session.js';
import { CopiedCommand, Empty, Foreign } from './parts.js';

/** The only page without a token. The token goes into the memory of this page, and nowhere else. */
export function SignIn() {
  const problem = useSignal('');
  const isBusy = useSignal(false);
  const enter = async (attempt: () => Promise<void>) => {
    isBusy.value = true;
    problem.value = '';
    try {
      await attempt();
    } catch (thrown) {
      problem.value = thrown instanceof Error ? thrown.message : String(thrown);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <main class="sign-in">
      <img src="/assets/icon.svg" alt="" width="48" height="48" />
      <h1>Mooring</h1>
      {signOutMessage.value !== '' && (
        <p class="notice" role="status">
          <Foreign text={signOutMessage.value} />
        </p>
      )}
      {offeredCode.value !== undefined && (
        <div class="notice">
          <p>You have opened a link that signs you in here, once.</p>
          <button type="button" class="primary" onClick={() => void enter(signInWithLink)}>
            Sign in with this link
          </button>
        </div>
      )}
      <form
        onSubmit={event => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem('token') as HTMLInputElement;
          void enter(() => signIn(field.value));
        }}
      >
        <label for="token">Token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          autofocus
          spellcheck={false}
        />
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? 'Signing in …' : 'Sign in'}
        </button>
        <p class="problem" role="alert">
          <Foreign text={problem.value} />
        </p>
      </form>
      <div class="soft">
        <p>
          The token is kept in the memory of this page only: after a reload you sign in again. On the machine of{' '}
          <code>make up</code>, this prints a link that signs you in once; tokens are in <code>.mooring/dev.json</code>:
        </p>
        <p>
          <CopiedCommand text="moor up" />
        </p>
        <p>An administrator mints others, for example one that can only look:</p>
        <p>
          <CopiedCommand text="moor tokens create --role viewer" />
        </p>
      </div>
    </main>
  );
}

/** An administrator of the platform looks at one tenant at a time. */
export function TenantChoice({ pendingSignIn: { tenants } }: { readonly pendingSignIn: PendingSignIn }) {
  const filter = useSignal('');
  const word = filter.value.toLowerCase();
  const shown = tenants.filter(({ name, id }) => name.includes(word) || id.includes(word));
  return (
    <main class="sign-in">
      <h1>Choose a tenant</h1>
      <input
        id="search"
        type="search"
        aria-label="Filter tenants"
        placeholder="Filter by name or id"
        value={filter.value}
        onInput={event => (filter.value = event.currentTarget.value)}
      />
      {shown.length === 0 && <Empty title="No tenant matches" />}
      <ul class="tenants">
        {shown.slice(0, 100).map(tenant => (
          <li key={tenant.id}>
            <button type="button" onClick={() => chooseTenant(tenant)}>
              <strong>
                <Foreign text={tenant.name} />
              </strong>
              <span class="soft">{tenant.id}</span>
            </button>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => signOut()}>
        Sign out
      </button>
    </main>
  );
}
