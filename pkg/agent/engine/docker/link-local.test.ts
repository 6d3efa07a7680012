import { expect } from 'chai';

import { isolateBridge } from './internal-bridges.js';
import { LinkLocalBarrier } from './link-local.js';

/** A firewall in memory: the rules of each program. */
const openFirewall = (isUsable = true) => {
  const rules: string[] = [];
  const run = async (program: string, words: readonly string[]) => {
    if (!isUsable) throw new Error('permission denied');
    const rule = `${program} ${words.slice(4).join(' ')}`;
    if (words[3] === '--insert') rules.push(rule);
    else if (!rules.includes(rule)) throw new Error('no such rule');
  };
  return { rules, run };
};

describe('LinkLocalBarrier', () => {
  it('knows nothing before the first bridge', () => {
    expect(new LinkLocalBarrier(true).isBlocked).to.equal(undefined);
  });

  it('writes one rule for all bridges of ours and one for each other, both families, once', async () => {
    const { rules, run } = openFirewall();
    const barrier = new LinkLocalBarrier(true, run);
    for (const bridge of ['moor-aa', 'moor-bb', 'br-012345678901', 'moor-aa']) await barrier.block(bridge);

    expect(barrier.isBlocked).to.equal(true);
    expect(rules).to.deep.equal([
      'iptables PREROUTING -i moor-+ -d 169.254.0.0/16 -j DROP',
      'ip6tables PREROUTING -i moor-+ -d fe80::/10 -j DROP',
      'iptables PREROUTING -i br-012345678901 -d 169.254.0.0/16 -j DROP',
      'ip6tables PREROUTING -i br-012345678901 -d fe80::/10 -j DROP',
    ]);
  });

  it('says so where the firewall cannot be used, and tries again', async () => {
    let isUsable = false;
    const { run } = openFirewall();
    const barrier = new LinkLocalBarrier(true, (...call) =>
      isUsable ? run(...call) : Promise.reject(new Error('no')),
    );
    await barrier.block('moor-aa');
    expect(barrier.isBlocked).to.equal(false);
    isUsable = true;
    await barrier.block('moor-aa');
    expect(barrier.isBlocked).to.equal(true);
  });

  it('writes no rule for an engine on another machine', async () => {
    const { rules, run } = openFirewall();
    const barrier = new LinkLocalBarrier(false, run);
    await barrier.block('moor-aa');
    expect([barrier.isBlocked, rules]).to.deep.equal([false, []]);
  });
});

describe('isolateBridge', () => {
  it('drops what goes to the machine and what it would route, of all internal networks, both families, once', async () => {
    const { rules, run } = openFirewall();
    for (const bridge of ['moor-xaa', 'moor-xbb']) expect(await isolateBridge(bridge, run)).to.equal(true);
    expect(rules).to.deep.equal(
      ['iptables', 'ip6tables'].flatMap(program => [
        `${program} PREROUTING -i moor-x+ -m addrtype --dst-type LOCAL -j DROP`,
        `${program} INPUT -i moor-x+ -j DROP`,
        `${program} FORWARD -i moor-x+ -m physdev ! --physdev-is-bridged -j DROP`,
        `${program} FORWARD -o moor-x+ -m physdev ! --physdev-is-bridged -j DROP`,
      ]),
    );
  });
});
