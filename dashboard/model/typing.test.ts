import { expect } from 'chai';

import { breakLine, findEdit, indent, outdent, type Selection, type TextEdit } from './typing.js';

/** `a[b]c` is a text with b selected, `a|bc` one with the caret before b. */
function parse(marked: string): Selection {
  const text = marked.replaceAll(/[[\]|]/g, '');
  const caret = marked.indexOf('|');
  return caret === -1
    ? { text, start: marked.indexOf('['), end: marked.indexOf(']') - 1 }
    : { text, start: caret, end: caret };
}

function show({ text }: Selection, { from, to, insert, select: [start, end] }: TextEdit): string {
  const after = text.slice(0, from) + insert + text.slice(to);
  if (start === end) return `${after.slice(0, start)}|${after.slice(start)}`;
  return `${after.slice(0, start)}[${after.slice(start, end)}]${after.slice(end)}`;
}

const cases: readonly (readonly [string, (selection: Selection) => TextEdit, string, string])[] = [
  ['Tab goes to the next step', indent, 'ports:\n|x', 'ports:\n  |x'],
  ['Tab fills up a step', indent, ' |x', '  |x'],
  ['Tab moves the selected lines', indent, 'a:\n[b: 1\n\nc: 2]\nd', 'a:\n[  b: 1\n\n  c: 2]\nd'],
  ['Tab leaves a line of which nothing is selected', indent, '[a: 1\n]b: 2', '[  a: 1]\nb: 2'],
  ['Tab moves a line of which a part is selected', indent, 'a: [1]2', '[  a: 12]'],
  ['Shift-Tab moves the line with the caret', outdent, 'a:\n    b|: 1', 'a:\n  b|: 1'],
  ['Shift-Tab takes what there is', outdent, ' |b', '|b'],
  ['Shift-Tab leaves a line that is not indented', outdent, 'a|b', 'a|b'],
  ['Shift-Tab keeps the caret on its line', outdent, 'a\n| b', 'a\n|b'],
  ['Shift-Tab moves the selected lines', outdent, '[  a\n    b\nc]', '[a\n  b\nc]'],
  ['Enter begins where the line does', breakLine, '  a: 1|', '  a: 1\n  |'],
  ['Enter goes deeper behind the name of a map', breakLine, '  a:|', '  a:\n    |'],
  ['Enter stays in the item of a list', breakLine, '  - name: x|', '  - name: x\n    |'],
  ['Enter in the indentation keeps what is before the caret', breakLine, '  |  a', '  \n  |  a'],
  ['Enter replaces what is selected', breakLine, 'a[b]c', 'a\n|c'],
];

describe('the keys of the editor', () => {
  for (const [title, press, before, after] of cases) {
    it(title, () => {
      const selection = parse(before);
      expect(show(selection, press(selection))).to.equal(after);
    });
  }
});

describe('what turns one text into another', () => {
  const pairs: readonly (readonly [string, string])[] = [
    ['a: 1\nb: 2\n', 'a: 1\nb: 3\n'],
    ['aaa', 'aa'],
    ['aa', 'aaa'],
    ['same', 'same'],
    ['', 'new'],
    ['old', ''],
  ];
  for (const [before, after] of pairs) {
    it(`is one piece: ${JSON.stringify(before)} to ${JSON.stringify(after)}`, () => {
      const { from, to, insert } = findEdit(before, after);
      expect(before.slice(0, from) + insert + before.slice(to)).to.equal(after);
      expect(insert.length).to.be.at.most(Math.max(after.length - before.length, 0) + (to - from));
    });
  }

  it('is no more than what differs', () => {
    expect(findEdit('a: 1\nb: 2\nc: 3\n', 'a: 1\nb: 20\nc: 3\n')).to.include({ insert: '0' });
  });
});
