import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { POOLS } from './address-pools.js';

interface Rule {
  readonly table: 'filter' | 'nat';
  readonly chain: string;
  readonly words: readonly string[];
}

/**
 * What an engine that leaves the firewall alone does not see to. The rules name addresses, not bridges, so they are the
 * same for every engine of our own, and none has to take them back.
 */
const RULES: readonly Rule[] = [
  {
    table: 'filter',
    chain: 'FORWARD',
    // What goes from one network to another is routed; what stays within one is bridged.
    words: ['-s', POOLS, '-d', POOLS, '-m', 'physdev', '!', '--physdev-is-bridged', '-j', 'DROP'],
  },
  { table: 'nat', chain: 'POSTROUTING', words: ['-s', POOLS, '!', '-d', POOLS, '-j', 'MASQUERADE'] },
];

/** Whether this machine drops forwarded packets that no rule lets through, traffic between containers included. */
export async function isForwardDropped(): Promise<boolean> {
  try {
    return (await iptables('--list-rules', 'FORWARD')).startsWith('-P FORWARD DROP');
  } catch {
    return false; // no firewall that we could ask
  }
}

/** Keeps the networks of our own engines apart, and lets them out. False where this machine's firewall cannot be used. */
export async function separateNetworks(): Promise<boolean> {
  try {
    for (const rule of RULES) if (!(await stands(rule))) await change('--insert', rule);
    return true;
  } catch {
    return false;
  }
}

async function stands(rule: Rule): Promise<boolean> {
  try {
    await change('--check', rule);
    return true;
  } catch {
    return false;
  }
}

function change(verb: '--check' | '--insert', { table, chain, words }: Rule): Promise<string> {
  return iptables('--table', table, verb, chain, ...words);
}

async function iptables(...words: readonly string[]): Promise<string> {
  return (await promisify(execFile)('iptables', ['--wait', ...words])).stdout;
}
