// Compares the recovered authority with the account that signed with another library.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hex, numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverAuthority } from './authorizations.ts'
import type { Authorization } from './types.ts'

const account = privateKeyToAccount(`0x${'0123456789abcdef'.repeat(4)}`)
const signed = async (chainId: number, address: Hex, nonce: number): Promise<Authorization> => {
  const { r, s, yParity } = await account.signAuthorization({ chainId, address, nonce })
  const [chain, count] = [numberToHex(chainId), numberToHex(nonce)]
  return { chainId: chain, address, nonce: count, yParity: numberToHex(yParity ?? 0), r, s }
}

test('the authority is the account that signed, for any chain, target and nonce', async () => {
  for (const chainId of [0, 1, 127, 31_337, 4_294_967_296])
    for (const nonce of [0, 1, 128, 65_536])
      for (const address of [`0x${'0'.repeat(40)}`, `0x${'5a'.repeat(20)}`] as const)
        assert.equal(recoverAuthority(await signed(chainId, address, nonce)), account.address.toLowerCase())
})

test('a malformed authorization, or one of which a member differs, has another authority or none', async () => {
  const right = await signed(1, `0x${'5a'.repeat(20)}`, 7)
  const changes: Partial<Record<keyof Authorization, unknown>>[] = [
    ...[{ chainId: '0x2' }, { nonce: '0x8' }, { address: `0x${'5b'.repeat(20)}` }, { yParity: '0x7' }, { r: '0x0' }],
    ...[{ r: undefined }, { s: 5 }, { s: `0x${'f'.repeat(64)}` }, { address: null }, { nonce: '7' }],
  ]
  for (const change of changes)
    assert.notEqual(recoverAuthority({ ...right, ...change } as Authorization), account.address.toLowerCase())
})
