import { expect } from 'chai';

import { exampleFacts, least, limits, listFaults, stored } from './admit.testing.js';
import { rejectOversized, WORKLOAD_BYTES_MAX } from '../workload/index.js';
import { admitCreate, admitUpdate } from './index.js';

const variables = (bytes: number) =>
  Object.fromEntries(Array.from({ length: bytes / 1024 }, (_, number) => [`A${number}`, 'x'.repeat(1024)]));
const LARGE = variables(WORKLOAD_BYTES_MAX);

describe('the size of a deployment', () => {
  it('is refused at the largest field, with the bytes that would be stored', () => {
    const admission = admitCreate({ ...least, environment: LARGE }, exampleFacts, limits);
    expect(listFaults(admission)).to.deep.equal([['document_too_large', 'environment']]);
    if (admission.ok) return;
    expect(admission.rejections[0].received).to.match(/^2\d{5} bytes$/);
    expect(admission.rejections[0].received).not.to.contain('xxx');
  });

  it('counts what an update leaves as it is, and characters by their bytes', () => {
    const half = { ...least, environment: variables(WORKLOAD_BYTES_MAX / 2) };
    expect(listFaults(admitCreate(half, exampleFacts, limits))).to.deep.equal([]);
    const before = {
      ...least,
      metadata: stored.metadata,
      replicas: 1,
      secretsVersion: 0,
      environment: half.environment,
    };
    const command = Array.from({ length: 60 }, () => 'ä'.repeat(1200));
    expect(listFaults(admitUpdate(before, { command }, exampleFacts, limits))).to.deep.equal([
      ['document_too_large', 'command'],
    ]);
  });

  it('counts every character as JSON writes it, however many bytes that takes', () => {
    for (const [character, bytes] of [
      ['\u0001', 6],
      ['\ud800', 6],
      ['€', 3],
      ['"', 2],
      ['x', 1],
    ] as const) {
      const spec = (length: number) => ({ command: [character.repeat(length)] });
      const around = Buffer.byteLength(JSON.stringify(spec(0)));
      const most = Math.floor((WORKLOAD_BYTES_MAX - around) / bytes);
      expect(rejectOversized(spec(most), []), character).to.equal(undefined);
      expect(rejectOversized(spec(most + 1), [])?.code, character).to.equal('document_too_large');
    }
    const numbers = { command: Array.from({ length: WORKLOAD_BYTES_MAX / 20 }, () => -1e-300 / 3) };
    expect(rejectOversized(numbers, [])?.code).to.equal('document_too_large');
  });

  it('does not hold up a change of one that was stored larger, unless it grows', () => {
    const before = { ...least, metadata: stored.metadata, replicas: 1, secretsVersion: 0, environment: LARGE };
    expect(listFaults(admitUpdate(before, { replicas: 2 }, exampleFacts, limits))).to.deep.equal([]);
    expect(listFaults(admitUpdate(before, { labels: { team: 'shop' } }, exampleFacts, limits))).to.deep.equal([
      ['document_too_large', 'environment'],
    ]);
  });

  it('limits what is announced likewise, since it is archived with the document', () => {
    const secrets = Array.from({ length: 64 }, (_, number) => ({
      name: `S${number}`,
      vault_path: `deployments/web-${number}`,
      anchor: 'process',
      generate: { keys: Array.from({ length: 64 }, (__, key) => `${'k'.repeat(90)}${key}`) },
    }));
    const faults = listFaults(admitCreate({ ...least, secrets }, exampleFacts, limits));
    expect(faults).to.deep.equal([['document_too_large', 'secrets[0].generate']]);
  });
});
