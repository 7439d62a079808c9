import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { networkOf } from './caller-network.ts'

const cases: readonly (readonly [string, string])[] = [
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['0:0:0:0:0:FFFF:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
  ['', ''],
  ['x'.repeat(10_000), 'unreadable'],
]

test('the network is the IPv4 address or the first 64 bits of the IPv6 address, in any spelling', () => {
  for (const [address, network] of cases) assert.equal(networkOf(address), network, address)
})
