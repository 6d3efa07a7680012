import { useSignal } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { CopiedCommand, Foreign, Panel } from './parts.js';

interface MintedJoinToken {
  readonly token: string;
  readonly caFingerprint?: string;
}

/** Mints the token with which one machine may enrol, and gives the command that it is enrolled with. */
export function JoinForm({ session }: { readonly session: OpenSession }) {
  const command = useSignal('');
  const problem = useSignal('');
  const mint = async (form: HTMLFormElement) => {
    const name = (form.elements.namedItem('node') as HTMLInputElement).value.trim();
    [command.value, problem.value] = ['', ''];
    try {
      const body = { nodeName: name };
      const answer = await session.connection.send<MintedJoinToken>('POST', '/api/v1/nodes/join-tokens', body);
      command.value = formatJoinCommand(name, answer);
    } catch (thrown) {
      problem.value = thrown instanceof Error ? thrown.message : String(thrown);
    }
  };
  return (
    <Panel title="Enrol a machine">
      <form
        class="write"
        autocomplete="off"
        onSubmit={event => {
          event.preventDefault();
          void mint(event.currentTarget);
        }}
      >
        <label>
          Name <input name="node" required placeholder="machine-1" spellcheck={false} />
        </label>
        <button type="submit">Make its command</button>
      </form>
      {command.value !== '' && (
        <div role="status">
          <p>Type this on the machine. The token in it enrols this name once, and is not shown again.</p>
          <CopiedCommand text={command.value} />
        </div>
      )}
      <p class="problem" role="alert">
        <Foreign text={problem.value} />
      </p>
    </Panel>
  );
}

/** A token is no argument: other users of the machine could read it there. */
function formatJoinCommand(name: string, { token, caFingerprint }: MintedJoinToken): string {
  const [scheme, pin] = caFingerprint === undefined ? [location.protocol, ''] : ['https:', `@${caFingerprint}`];
  return `MOORING_JOIN_TOKEN=${token}${pin} moor agent --server ${scheme}//${location.host} --name ${name}`;
}
