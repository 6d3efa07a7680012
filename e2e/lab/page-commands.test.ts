import { expect } from 'chai';

import { readCommandBlocks, replaceWords } from './page-commands.js';

const page =
  '```sh run\na=1\n```\ntext\n```yaml\nx: 1\n```\n```sh skip="no machine"\nb\n```\n```sh run\necho $a 10.0.0.1\n```\n';

describe('the commands of a page', () => {
  it('are its marked blocks, in order', () => {
    const blocks = readCommandBlocks(page);
    expect(blocks.map(({ skipped }) => skipped)).to.deep.equal([undefined, 'no machine', undefined]);
    expect(blocks.map(({ commands }) => commands)).to.deep.equal(['a=1\n', 'b\n', 'echo $a 10.0.0.1\n']);
  });

  it('may not leave open whether they are run', () => {
    for (const mark of ['', ' skip', ' skip=""', ' ran']) {
      expect(() => readCommandBlocks(`\`\`\`sh${mark}\nx\n\`\`\`\n`), mark).to.throw('neither');
    }
  });

  it('are run with what stands here for their words: in order, each in what the ones before it gave', () => {
    const words = { 'registry.example.com/shop/web:1.4.2': '127.0.0.1:7071/demo', '127.0.0.1:7071': '127.0.0.1:9' };
    expect(replaceWords('run registry.example.com/shop/web:1.4.2 127.0.0.1:7071/x', words)).to.equal(
      'run 127.0.0.1:9/demo 127.0.0.1:9/x',
    );
  });
});
