import { signal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { arrival, session, type OpenSession, signOut } from '../data/session.js';
import { mayDo } from '../model/actions.js';
import { type PageAddress, toPlace } from '../model/places.js';
import { DeploymentPage } from './deployment.js';
import { Deployments } from './deployments.js';
import { Editor } from './editor.js';
import { Events } from './events.js';
import { JobPage } from './job.js';
import { KindPage } from './kind-page.js';
import { NodePage, Nodes } from './nodes.js';
import { Overview } from './overview.js';
import { Foreign } from './parts.js';
import { Quotas } from './quotas.js';
import { Secrets } from './secrets.js';
import { SignIn, TenantChoice } from './sign-in.js';
import { Tokens } from './tokens.js';

const place = signal<PageAddress>(toPlace(location.hash));
addEventListener('hashchange', () => {
  place.value = toPlace(location.hash);
  scrollTo(0, 0);
});

const isHelpOpen = signal(false);
const THEMES = ['auto', 'light', 'dark'] as const;
const theme = signal<(typeof THEMES)[number]>('auto');

export function App() {
  useKeys();
  useSignalEffect(() => {
    document.documentElement.dataset['theme'] = theme.value;
  });
  useSignalEffect(() => {
    const open = session.value;
    document.title = open ? `${describePlace(place.value)} · ${open.tenant.name} · Mooring` : 'Mooring';
  });
  const open = session.value;
  const known = arrival.value;
  return (
    <>
      {open ? (
        <Shell session={open} key={open.tenant.id} />
      ) : known && known.who.kind === 'admin' ? (
        <TenantChoice arrival={known} />
      ) : (
        <SignIn />
      )}
      <HelpDialog />
    </>
  );
}

function describePlace(at: PageAddress): string {
  return 'name' in at ? at.name : at.page.replace(/^./, first => first.toUpperCase());
}

const LINKS: readonly (readonly [string, string, readonly PageAddress['page'][]])[] = [
  ['#/', 'Overview', ['overview']],
  ['#/deployments', 'Deployments', ['deployments', 'deployment', 'edit', 'new']],
  ['#/nodes', 'Nodes', ['nodes', 'node']],
  ['#/jobs', 'Jobs', ['jobs', 'job']],
  ['#/secrets', 'Secrets', ['secrets']],
  ['#/volumes', 'Volumes', ['volumes']],
  ['#/networks', 'Networks', ['networks']],
  ['#/backups', 'Backups', ['backups']],
  ['#/quotas', 'Quotas', ['quotas']],
  ['#/tokens', 'Tokens', ['tokens']],
  ['#/events', 'Events', ['events']],
];

function Shell({ session: open }: { readonly session: OpenSession }) {
  const { who, tenant, isConnected, isLoaded } = open;
  const troubles = isLoaded.value ? open.troubles.value.length : 0;
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={event => (event.preventDefault(), document.getElementById('main')?.focus())}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/">
          <img src="/assets/icon.svg" alt="" width="24" height="24" /> Mooring
        </a>
        <nav aria-label="Pages">
          {LINKS.filter(([, title]) => title !== 'Tokens' || mayDo(who, 'admin')).map(([href, title, pages]) => (
            <a key={href} href={href} aria-current={pages.includes(place.value.page) ? 'page' : undefined}>
              {title}
              {title === 'Overview' && <span class={troubles > 0 ? 'count' : 'count none'}>{troubles}</span>}
            </a>
          ))}
        </nav>
        <div class="who">
          <span class="tenant" title={`X-Tenant-ID: ${tenant.id}`}>
            Tenant{' '}
            <strong>
              <Foreign text={tenant.name} />
            </strong>
            <code class="tenant-id">{tenant.id}</code>
          </span>
          {who.kind === 'admin' && (
            <button type="button" onClick={() => (session.value?.end(), (session.value = undefined))}>
              Change tenant
            </button>
          )}
          <span class="soft">{who.kind === 'admin' ? 'platform administrator' : who.role}</span>
          <button type="button" aria-label={`Theme: ${theme.value}`} title="Theme" onClick={nextTheme}>
            ◐ {theme.value}
          </button>
          <button type="button" aria-label="Keyboard help" onClick={() => (isHelpOpen.value = true)}>
            ?
          </button>
          <button type="button" onClick={() => signOut()}>
            Sign out
          </button>
        </div>
      </header>
      <p class={isConnected.value ? 'line-state' : 'line-state away'} role="status">
        {isConnected.value ? '' : 'The server does not answer. What you see is as it was; it is tried again.'}
      </p>
      <main id="main" tabIndex={-1}>
        {isLoaded.value ? <Page session={open} /> : <p class="soft">Reading …</p>}
      </main>
    </div>
  );
}

function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
}

function Page({ session: open }: { readonly session: OpenSession }) {
  const at = place.value;
  switch (at.page) {
    case 'overview':
      return <Overview session={open} />;
    case 'deployments':
      return <Deployments session={open} />;
    case 'deployment':
      return <DeploymentPage session={open} name={at.name} />;
    case 'nodes':
      return <Nodes session={open} />;
    case 'node':
      return <NodePage session={open} name={at.name} />;
    case 'events':
      return <Events session={open} />;
    case 'secrets':
      return <Secrets session={open} />;
    case 'tokens':
      return <Tokens session={open} />;
    case 'quotas':
      return <Quotas session={open} />;
    case 'job':
      return <JobPage key={at.name} session={open} name={at.name} />;
    case 'new':
      return <Editor session={open} />;
    case 'edit':
      return <Editor key={at.name} session={open} name={at.name} />;
    default:
      return <KindPage key={at.page} session={open} kind={at.page} />;
  }
}

const GO: Readonly<Record<string, string>> = {
  o: '#/',
  d: '#/deployments',
  n: '#/nodes',
  j: '#/jobs',
  s: '#/secrets',
  v: '#/volumes',
  e: '#/events',
};
const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search in the list; from other pages, in deployments'],
  ['g then o, d, n, j, s, v, e', 'overview, deployments, nodes, jobs, secrets, volumes, events'],
  ['?', 'this help'],
  ['Esc', 'close it, or leave a field'],
];

function useKeys(): void {
  const before = useRef('');
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const isTyping = /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (event.key === 'Escape' && isTyping) target.blur();
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const last = before.current;
      before.current = event.key;
      if (event.key === '?') isHelpOpen.value = true;
      else if (event.key === '/') {
        event.preventDefault();
        focusSearch();
      } else if (last === 'g' && session.value && GO[event.key] !== undefined) location.hash = GO[event.key]!;
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function focusSearch(): void {
  const find = () => document.getElementById('search');
  if (find()) return find()!.focus();
  if (!session.value) return;
  location.hash = '#/deployments';
  setTimeout(() => find()?.focus(), 50);
}

function HelpDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useSignalEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  });
  return (
    <dialog ref={dialog} aria-label="Keyboard help" onClose={() => (isHelpOpen.value = false)}>
      <h2>Keyboard</h2>
      <dl>
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p class="soft">
        Everything here is also on the command line: <code>moor --help</code>. What each code means:{' '}
        <a href="/docs/codes" target="_blank" rel="noreferrer">
          codes
        </a>
        .
      </p>
      <button type="button" onClick={() => (isHelpOpen.value = false)}>
        Close
      </button>
    </dialog>
  );
}
