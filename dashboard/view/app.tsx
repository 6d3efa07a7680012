import { signal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { toTitle } from '../../crds/kind/index.js';
import { pendingSignIn, session, type OpenSession, signOut } from '../data/session.js';
import { placedKinds } from '../model/generated-kinds.js';
import { listPlaces, maySee, type PageAddress, toPlace } from '../model/places.js';
import { Editor } from './editor.js';
import { KindPage } from './kind-page.js';
import { getKindPages } from './kind-pages.js';
import { Overview } from './overview.js';
import { Foreign } from './parts.js';
import { Quotas } from './quotas.js';
import { SignIn, TenantChoice } from './sign-in.js';

const places = listPlaces();
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
  const known = pendingSignIn.value;
  return (
    <>
      {open ? (
        <Shell session={open} key={open.tenant.id} />
      ) : known && known.who.kind === 'admin' ? (
        <TenantChoice pendingSignIn={known} />
      ) : (
        <SignIn />
      )}
      <HelpDialog />
    </>
  );
}

function describePlace(at: PageAddress): string {
  return at.name ?? toTitle(at.page);
}

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
          {places
            .filter(({ pages }) => pages.every(page => maySee(who, page)))
            .map(({ href, title, pages }) => (
              <a key={href} href={href} aria-current={pages.includes(place.value.page) ? 'page' : undefined}>
                {title}
                {pages.includes('overview') && <span class={troubles > 0 ? 'count' : 'count none'}>{troubles}</span>}
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
  const { page, name } = place.value;
  if (!maySee(open.who, page)) return <Overview session={open} />;
  switch (page) {
    case 'overview':
      return <Overview session={open} />;
    case 'quotas':
      return <Quotas session={open} />;
    case 'new':
      return <Editor session={open} />;
    case 'edit':
      return <Editor key={name} session={open} {...(name !== undefined && { name })} />;
    default:
      return <PageOfKind session={open} page={page} name={name} />;
  }
}

/** The list of a kind, or one of its objects. */
function PageOfKind({
  session: open,
  page,
  name,
}: {
  readonly session: OpenSession;
  readonly page: string;
  readonly name: string | undefined;
}) {
  const kind = placedKinds.find(({ singular, plural }) => page === (name === undefined ? plural : singular));
  if (!kind) return <Overview session={open} />;
  const { list: List, listing = {}, object: One } = getKindPages(kind.plural);
  if (name !== undefined && One) return <One session={open} name={name} />;
  return List ? <List session={open} /> : <KindPage key={kind.plural} session={open} kind={kind} listing={listing} />;
}

const shortcuts = places.filter(({ key }) => key !== undefined);
const GO: ReadonlyMap<string | undefined, string> = new Map(shortcuts.map(({ key, href }) => [key, href]));
const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search in the list; from other pages, in deployments'],
  [
    `g then ${shortcuts.map(({ key }) => key).join(', ')}`,
    shortcuts.map(({ title }) => title.toLowerCase()).join(', '),
  ],
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
      } else if (last === 'g' && session.value && GO.has(event.key)) location.hash = GO.get(event.key)!;
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
