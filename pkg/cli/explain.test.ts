import { expect } from 'chai';
import { useCommandLab } from './command-lab.testing.js';

describe('moor', () => {
  const lab = useCommandLab();

  const moor = (words: readonly string[]) => lab.moor(words);

  describe('explain a reason', () => {
    it('says what it means and what to do, without a server', async () => {
      const { code, out } = await moor(['explain', 'crash_loop']);
      expect(code).to.equal(0);
      expect(out).to.include('ends again and again').and.include('"moor logs <name>"');
    });

    it('shows both where a word is a reason and a rejection code', async () => {
      const { out } = await moor(['explain', 'quota_reached']);
      expect(out).to.match(/means .*\n.*remedy .*\n\nquota_reached\n/);
    });

    it('refuses a word that is neither', async () => {
      expect((await moor(['explain', 'no_such_word'])).code).to.equal(2);
    });
  });

  describe('explain deployment', () => {
    it('prints a table of nodes and filters, and every reason', async () => {
      const holder = { deployment: 'api', replica: 2, holds: '80/tcp', isLeaving: true };
      const port = {
        filter: 'port',
        message: '80/tcp taken by another replica on the node',
        inTheWay: [holder, { job: 'batch', attempt: 1, holds: '80/tcp' }],
      };
      lab.api.replies.set('GET /api/v1/deployments/web/explain', {
        status: 200,
        body: {
          deployment: 'web',
          phase: 'Unschedulable',
          message: '0 of 2 nodes: 1 port, 1 residency; 1 of 2 replicas ready',
          steps: [
            { step: 'admitted', state: 'done', since: null, detail: 'generation 1 is stored' },
            {
              step: 'placed',
              state: 'waiting',
              since: null,
              detail: '0 of 2 nodes',
              reason: 'Unschedulable',
              next: 'Read.',
            },
          ],
          outlook: '1 replica waits for a node: 0 of 2 nodes: 1 port, 1 residency',
          filters: ['ready', 'residency', 'port'],
          candidates: [
            { node: 'a', replicas: 1, rank: null, reasons: [port], whyHere: 'every filter lets it' },
            { node: 'b', replicas: 0, rank: null, reasons: [{ filter: 'residency', message: 'requires country DE' }] },
          ],
        },
      });
      const { code, out } = await moor(['explain', 'deployment', 'web']);

      expect(code).to.equal(0);
      expect(out).to.match(/^web: Unschedulable: 0 of 2 nodes: 1 port, 1 residency; 1 of 2 replicas ready\nSteps:\n/);
      expect(out).to.match(
        / placed +waiting +- +0 of 2 nodes\n {2}placed: what to do \(Unschedulable\): Read\.\nNodes: 1 replica/,
      );
      expect(out).to.match(/NODE +REPLICAS +RANK +RESIDENCY +PORT\na +1 +- +ok +no\nb +0 +- +no +ok\n/);
      expect(out)
        .to.include('a: has it: every filter lets it')
        .and.include('in the way: replica 2 of api (80/tcp, being removed), attempt 1 of job batch (80/tcp)')
        .and.include('b: residency: requires country DE');
    });

    it('refuses other kinds', async () => {
      expect((await moor(['explain', 'node', 'a'])).code).to.equal(2);
    });
  });
});
