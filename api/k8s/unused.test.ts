import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { expect } from 'chai';

const IMPORT = /^(?:import|export) (?!type )[^;]*?from '([^']+)';/gms;

/** Every file that is loaded with another one, by what they import as values, and the packages beside them. */
function listLoaded(entry: string): { readonly files: ReadonlySet<string>; readonly packages: ReadonlySet<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const left = [entry];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    for (const [, imported = ''] of readFileSync(path, 'utf8').matchAll(IMPORT)) {
      if (!imported.startsWith('.')) packages.add(imported);
      else left.push(join(dirname(path), imported.replace(/\.js$/, '.ts')));
    }
  }
  return { files, packages };
}

describe('the Kubernetes face of a server that nobody asks there', () => {
  it('is not loaded, apart from its rows and how they refuse', () => {
    const { files, packages } = listLoaded('api/main.ts');
    expect(files.size).to.be.greaterThan(100);
    expect([...files].every(existsSync)).to.equal(true);
    const faced = [...files].filter(path => path.startsWith('api/k8s/')).toSorted();
    expect(faced).to.deep.equal(['api/k8s/request.ts', 'api/k8s/routes.ts', 'api/k8s/status.ts']);
    expect(packages).to.include('node:http');
    expect(packages).to.not.include('@kubernetes/client-node');
  });
});
