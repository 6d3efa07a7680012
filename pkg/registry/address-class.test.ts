import { expect } from 'chai';
import fc from 'fast-check';

import { type AddressClass, addressClass } from './address-class.js';
import { words } from './registry-lab.testing.js';

describe('class of an address', () => {
  const table: Readonly<Record<AddressClass, readonly string[]>> = {
    public: words(`
      1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
      169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
      2606:4700::1111 2a00::1 2001:200::`),
    private: words(`
      10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255 172.16.0.0 172.31.255.255
      192.168.0.0 192.168.255.255 ::1 fc00:: fdff:ffff::1 0:0:0:0:0:0:0:1`),
    special: words(`
      0.0.0.0 0.255.255.255 169.254.0.0 169.254.169.254 192.0.0.8 192.0.2.1 192.88.99.1 198.18.0.0 198.19.255.255
      198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::ffff:8.8.8.8 ::ffff:127.0.0.1
      ::ffff:7f00:1 ::127.0.0.1 ::8.8.8.8 64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1
      4000::1 fe80::1 fec0::1 ff02::1 fe80::1%lo a.b 127.1 2130706433 0x7f.0.0.1`),
  };
  for (const [name, addresses] of Object.entries(table)) {
    for (const address of addresses) {
      it(`takes "${address}" for ${name}`, () => {
        expect(addressClass(address)).to.equal(name);
      });
    }
  }

  it('takes no address in the clothes of another for public', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom('::ffff:', '::', '64:ff9b::'), (address, clothes) => {
        expect(addressClass(`${clothes}${address}`)).to.not.equal('public');
      }),
      { numRuns: 1000 },
    );
  });
});
