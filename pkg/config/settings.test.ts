import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { toEnvironmentVariable, toFlag, InvalidSettingFault, loadSettings } from './settings.js';

describe('settings', () => {
  let folder: string;
  const file = (text: string) => {
    const path = join(folder, 'mooring.yaml');
    writeFileSync(path, text);
    return path;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-settings-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('has a default for everything', () => {
    const { settings, origins } = loadSettings({ environment: {} });
    expect(settings.maxReplicasPerDeployment).to.equal(100);
    expect(origins.maxReplicasPerDeployment).to.equal('default');
  });

  it('lets a flag win over the environment, and the environment over the file', () => {
    const path = file('listen: a\nlogLevel: warn\nheartbeatSeconds: 7\n');
    const environment = { MOORING_LISTEN: 'b', MOORING_LOG_LEVEL: 'debug' };
    const { settings, origins } = loadSettings({ environment, file: path, flags: { listen: 'c' } });

    expect([settings.listen, settings.logLevel, settings.heartbeatSeconds]).to.deep.equal(['c', 'debug', 7]);
    expect([origins.listen, origins.logLevel, origins.heartbeatSeconds]).to.deep.equal(['flag', 'environment', 'file']);
  });

  it('reads lists from comma-separated text', () => {
    const { settings } = loadSettings({ environment: { MOORING_RESERVED_NAMES: 'etcd,postgres' } });
    expect(settings.reservedNames).to.deep.equal(['etcd', 'postgres']);
  });

  const refused: readonly [string, () => unknown][] = [
    ['a setting that does not exist', () => loadSettings({ environment: {}, file: file('listem: a\n') })],
    ['a number that is none', () => loadSettings({ environment: { MOORING_MAX_BODY_BYTES: 'much' } })],
    ['an empty number', () => loadSettings({ environment: { MOORING_MAX_BODY_BYTES: '' } })],
    ['a file that is no map', () => loadSettings({ environment: {}, file: file('- a\n') })],
  ];
  for (const [name, load] of refused) it(`refuses ${name}`, () => expect(load).to.throw(InvalidSettingFault));

  it('names variables and flags after the key', () => {
    expect(toEnvironmentVariable('maxBodyBytes')).to.equal('MOORING_MAX_BODY_BYTES');
    expect(toFlag('maxBodyBytes')).to.equal('--max-body-bytes');
  });
});
