import { expect } from 'chai';

import { PullPolicy, type PullRejection, type RegistryRules } from './pull-policy.js';

const open: RegistryRules = { allow: [], insecure: ['lab.example:5000', '127.0.0.1:7071'], default: '' };
const listed: RegistryRules = { ...open, allow: ['registry.example.com'], default: 'registry.example.com' };
const hosts: Readonly<Record<string, readonly string[]>> = {
  'registry.example.com': ['8.8.8.8'],
  'public.example': ['8.8.8.8', '2600::1'],
  'inside.example': ['10.0.0.9'],
  'both.example': ['8.8.8.8', '127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'lab.example': ['10.0.0.9'],
};

describe('PullPolicy', () => {
  const cases: ReadonlyArray<{ rules?: RegistryRules; image: string; refused?: PullRejection }> = [
    { image: 'public.example/a:1' },
    { image: 'nginx:1' },
    { image: 'lab.example:5000/a:1' },
    { image: '127.0.0.1:7071/a:1' },
    { image: 'inside.example/a:1', refused: 'address' },
    { image: 'both.example/a:1', refused: 'address' },
    { image: 'metadata.example/a:1', refused: 'address' },
    { image: '127.0.0.1:2379/v2/keys:1', refused: 'address' },
    { image: '169.254.169.254/latest:1', refused: 'address' },
    { image: '[::1]:2379/a:1', refused: 'address' },
    { image: '[::ffff:127.0.0.1]:2379/a:1', refused: 'host' },
    { image: '2130706433:80/a:1', refused: 'host' },
    { image: 'nowhere.example/a:1', refused: 'unknown_host' },
    { image: `sha256:${'a'.repeat(64)}`, refused: 'host' },
    { image: 'sha256:abcdef123456', refused: 'host' },
    { image: 'a'.repeat(64), refused: 'host' },
    { rules: listed, image: 'registry.example.com/a:1' },
    { rules: listed, image: 'nginx:1' },
    { rules: listed, image: 'lab.example:5000/a:1' },
    { rules: listed, image: 'public.example/a:1', refused: 'not_listed' },
    { rules: { ...listed, default: '' }, image: 'nginx:1', refused: 'not_listed' },
  ];
  for (const { rules = open, image, refused } of cases) {
    it(`${refused ? `refuses (${refused})` : 'allows'} ${image}${rules === open ? '' : ', with listed registries'}`, async () => {
      const resolve = (name: string) => Promise.resolve(hosts[name] ?? []);
      const policy = new PullPolicy(rules, resolve);
      expect(await policy.checkPull(image, new AbortController().signal)).to.equal(refused);
    });
  }

  it('refuses a name that does not resolve in time', async () => {
    const policy = new PullPolicy(open, () => new Promise(() => undefined));
    expect(await policy.checkPull('public.example/a:1', AbortSignal.abort())).to.equal('unknown_host');
  });

  it('checks no address where nothing is contacted', async () => {
    const policy = new PullPolicy(open);
    expect(await policy.checkPull('inside.example/a:1', new AbortController().signal)).to.equal(undefined);
  });
});
