import { type CertificateFiles, CertificateFolder } from './certificate-folder.js';

/** What a control plane has authorities for. Whoever has a certificate of etcd's own may read and write everything. */
const authorityNames = { server: 'mooring', etcd: 'mooring etcd' } as const;

/** The folder of an authority, made where it is missing. */
export function openAuthority(of: keyof typeof authorityNames, folder: string, now: () => number): CertificateFolder {
  return new CertificateFolder({ folder, authorityName: authorityNames[of], now });
}

/** The certificate of the API server, issued where no sound one is there. */
export function issueServer(folder: string, hosts: readonly string[], now: () => number): CertificateFiles {
  return openAuthority('server', folder, now).ensure('server', hosts, ['server']);
}

/** The certificate of an etcd member, for its clients and for its peers. */
export function issueEtcdMember(
  folder: string,
  { name, hosts }: { readonly name: string; readonly hosts: readonly string[] },
  now: () => number,
): CertificateFiles {
  return openAuthority('etcd', folder, now).ensure(name, hosts, ['server', 'client']);
}

/** The certificate that servers and controllers show to etcd. */
export function issueEtcdClient(folder: string, now: () => number): CertificateFiles {
  return openAuthority('etcd', folder, now).ensure('mooring', [], ['client']);
}
