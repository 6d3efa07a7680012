import { expect } from 'chai';

import { withRegistry } from './guide-stack.js';
import { replaceWords } from './page-commands.js';

describe('what stands for the words of a page where `moor up` has run', () => {
  const story = { 'registry.example.com/shop/web:1.4.2': '127.0.0.1:7071/mooring/demo:1.0.0' };

  it('has the registry that is here, also in what a story puts there', () => {
    const words = withRegistry(story, () => '127.0.0.1:40001');
    expect(replaceWords('registry.example.com/shop/web:1.4.2 127.0.0.1:7071/a', words)).to.equal(
      '127.0.0.1:40001/mooring/demo:1.0.0 127.0.0.1:40001/a',
    );
  });

  it('asks for the registry at each block: a page may start it', () => {
    let registry = '127.0.0.1:40001';
    const words = withRegistry(story, () => registry);
    registry = '127.0.0.1:40002';
    expect(replaceWords('127.0.0.1:7071', words)).to.equal(registry);
  });
});
