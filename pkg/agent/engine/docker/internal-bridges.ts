import { BRIDGE_PREFIX, type DropRule, ensureRules, type RunProgram } from './link-local.js';

/** Bridges of internal networks begin with this. The random part of another bridge never begins with an x. */
export const INTERNAL_BRIDGE_PREFIX = `${BRIDGE_PREFIX}x`;

/** What goes from one container of a network to another is bridged; anything else that a bridge passes on is routed. */
const ROUTED = ['-m', 'physdev', '!', '--physdev-is-bridged'];

/**
 * Makes sure that nothing leaves or enters an internal network, whatever the engine does about it: an engine that leaves the
 * firewall alone gives its containers a route to the outside all the same, and every engine an address of the machine itself.
 *
 * The rules name the bridges of all internal networks, so they may stay when those are gone. False where they cannot be written.
 */
export function isolateBridge(bridge: string, run?: RunProgram): Promise<boolean> {
  const form = bridge.startsWith(INTERNAL_BRIDGE_PREFIX) ? `${INTERNAL_BRIDGE_PREFIX}+` : bridge;
  const rules = ['iptables', 'ip6tables'].flatMap((program): readonly DropRule[] => [
    { program, table: 'raw', words: ['PREROUTING', '-i', form, '-m', 'addrtype', '--dst-type', 'LOCAL'] },
    // Broadcast and multicast are not local addresses, and reach the machine all the same.
    { program, table: 'mangle', words: ['INPUT', '-i', form] },
    { program, table: 'mangle', words: ['FORWARD', '-i', form, ...ROUTED] },
    { program, table: 'mangle', words: ['FORWARD', '-o', form, ...ROUTED] },
  ]);
  return ensureRules(rules, run);
}
