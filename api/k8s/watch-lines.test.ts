import { expect } from 'chai';

import type { WatchHistory } from '../watch/history.js';
import type { ServedResource } from './served.js';
import { KubernetesLines, type ObjectForm } from './watch-lines.js';

describe('the lines of a watch of the Kubernetes face', () => {
  const served = { group: 'mooring.io', kind: 'Deployment', project: () => [] } as unknown as ServedResource;
  const history = { revision: 7, epoch: undefined } as unknown as WatchHistory;
  const makeLines = ({ wantsBookmarks = false, form = 'whole' as ObjectForm } = {}) =>
    new KubernetesLines({
      served,
      history,
      selects: () => true,
      isVisible: () => true,
      form: () => form,
      wantsBookmarks,
      marksOpening: false,
      baseUrl: () => 'http://127.0.0.1:7070',
    });
  const read = (line: Buffer) =>
    JSON.parse(line.toString()) as {
      type: string;
      object: { kind: string; code?: number; metadata: { resourceVersion?: string } };
    };

  it('are a bookmark with the version to go on from while nothing happens, where the client wants it', () => {
    const { type, object } = read(makeLines({ wantsBookmarks: true }).idle());
    expect([type, object.kind, object.metadata.resourceVersion]).to.deep.equal(['BOOKMARK', 'Deployment', '79999']);
    const table = read(makeLines({ wantsBookmarks: true, form: { columns: [], include: 'Metadata', now: 0 } }).idle());
    expect([table.type, table.object.kind]).to.deep.equal(['BOOKMARK', 'Table']);
  });

  it('are empty, which every client skips, where it does not', () => {
    expect(makeLines().idle().toString()).to.equal('\n');
  });

  it('end with 410 as an event when changes were missed, so that the client lists again', () => {
    const { type, object } = read(makeLines().gone());
    expect([type, object.kind, object.code]).to.deep.equal(['ERROR', 'Status', 410]);
  });
});
