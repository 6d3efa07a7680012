import { expect } from 'chai';

import { gadgetKind } from '../crds/kind/gadget.testing.js';
import { kinds } from '../crds/kinds/index.js';
import { renderDashboardKinds } from './generate-dashboard.js';
import { renderKindsReference } from './generate-kinds.js';

describe('docs/KINDS.md', () => {
  it('describes a kind that only has a descriptor', () => {
    const text = renderKindsReference([...kinds, gadgetKind]);
    for (const part of [
      '## Gadget',
      '| Names | `gadget`, `gadgets`, `gdg` |',
      '| Stored at | `gadgets/<tenant>/<name>` |',
      'watch `GET /api/v1/gadgets?watch=true`, get `GET /api/v1/gadgets/{name}`',
      '| Columns | NAME, [SIZE] |',
      '`gadgets` (5 by default)',
      '| Events | `gadget.broken` |',
      '| `name` | required |  |',
      '| `size` | `3` | replaces the containers |',
      '| `colour` |  |  |',
    ]) {
      expect(text).to.include(part);
    }
  });

  it('says how objects are deleted, and which kinds they use', () => {
    const operations = ['list', 'delete'] as const;
    const render = (more: object) => renderKindsReference([{ ...gadgetKind, operations, ...more }]);
    expect(render({})).to.include('| Deleted | at once |').and.to.not.include('| Uses |');
    expect(render({ isFinalized: true, uses: ['node'] }))
      .to.include('| Deleted | once what it stands for is gone |')
      .and.to.include('| Uses | `node` |');
    expect(render({ operations: ['list'] })).to.not.include('| Deleted |');
  });
});

describe('the kinds of the dashboard', () => {
  it('have a kind that only has a descriptor', () => {
    const text = renderDashboardKinds([...kinds, gadgetKind]);
    expect(text).to.include("import { gadgetColumns } from '../../crds/gadget/columns.js';\n");
    expect(text).to.include(
      [
        '  {',
        "    kind: 'Gadget',",
        "    singular: 'gadget',",
        "    plural: 'gadgets',",
        "    scope: 'tenant',",
        "    path: '/api/v1/gadgets',",
        "    nameField: 'name',",
        "    operations: ['list', 'watch', 'get', 'create'],",
        '    columns: gadgetColumns,',
        '  },',
      ].join('\n'),
    );
  });
});
