import { expect } from 'chai';

import { readCommandBlocks, toScript } from './page-commands.js';

const page =
  '```sh run\na=1\n```\ntext\n```yaml\nx: 1\n```\n```sh skip="no machine"\nb\n```\n```sh run\necho $a 10.0.0.1\n```\n';

describe('the commands of a page', () => {
  it('are its marked blocks, in order', () => {
    const blocks = readCommandBlocks(page);
    expect(blocks.map(({ skipped }) => skipped)).to.deep.equal([undefined, 'no machine', undefined]);
    const script = toScript(blocks, { '10.0.0.1': '127.0.0.1' });
    expect(script).to.contain('a=1').and.contain('echo $a 127.0.0.1').and.not.contain('\nb\n');
  });

  it('may not leave open whether they are run', () => {
    for (const mark of ['', ' skip', ' skip=""', ' ran']) {
      expect(() => readCommandBlocks(`\`\`\`sh${mark}\nx\n\`\`\`\n`), mark).to.throw('neither');
    }
  });
});
