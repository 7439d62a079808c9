import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addWallet, parseAnnouncement, type Wallet } from './announced-wallets.ts'

const provider = { request: async () => null }
const info = { uuid: 'a', name: 'Harbour', rdns: 'example.harbour', icon: 'data:image/svg+xml,' }

test('an announcement without an id, a name or a provider is ignored', () => {
  assert.deepEqual(parseAnnouncement({ info, provider }), { id: 'a', name: 'Harbour', provider })
  for (const detail of [undefined, null, 'text', {}, { info }, { provider }, { info, provider: {} }])
    assert.equal(parseAnnouncement(detail), undefined)
  assert.equal(parseAnnouncement({ info: { ...info, name: 1 }, provider }), undefined)
  assert.equal(parseAnnouncement({ info: { ...info, name: 'x'.repeat(1000) }, provider })?.name.length, 40)
  assert.equal(parseAnnouncement({ info: { ...info, name: ' ' }, provider })?.name, 'Wallet without a name')
})

test('a wallet that announces itself again is listed once, and wallets with one name get numbers', () => {
  const wallets = ['a', 'b', 'a', 'c'].reduce<readonly Wallet[]>(
    (known, id) => addWallet(known, { id, name: 'Harbour', provider }),
    [],
  )
  assert.deepEqual(
    wallets.map(({ id, name }) => [id, name]),
    [
      ['a', 'Harbour'],
      ['b', 'Harbour 2'],
      ['c', 'Harbour 3'],
    ],
  )
})

test('at most 20 wallets are listed', () => {
  let wallets: readonly Wallet[] = []
  for (let id = 0; id < 50; id += 1) wallets = addWallet(wallets, { id: String(id), name: 'Harbour', provider })
  assert.equal(wallets.length, 20)
})
