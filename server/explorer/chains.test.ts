import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import type { RawQuery } from '#http/handler.ts'
import { settingsWith } from '#test/context.ts'
import { requireChainWithOpenList, requireServedChain } from './chains.ts'
import { labelListV1 } from './endpoints/label-list-v1.ts'
import type { LinkContext } from './labels/lists/link-secret.ts'

const context = { settings: settingsWith() } as LinkContext
const closed = { settings: settingsWith({ explorer: { unavailableChains: ['1'] } }) } as LinkContext

const refusal = (gate: (query: RawQuery, context: LinkContext) => void, query: RawQuery, at = context): string => {
  try {
    gate(query, at)
    return 'passes'
  } catch (error) {
    return (error as Fault).code
  }
}

const cases: readonly [query: RawQuery, list: string, funding: string][] = [
  [{}, 'passes', 'passes'],
  [{ chainid: '' }, 'passes', 'passes'],
  [{ chainid: '1' }, 'passes', 'passes'],
  [{ chainid: '137' }, 'passes', 'passes'],
  [{ chainid: '5' }, 'explorer.chain_unsupported', 'explorer.chain_unsupported'],
  [{ chainid: '01' }, 'explorer.chain_unsupported', 'explorer.chain_unsupported'],
  [{ chainid: '1,137' }, 'explorer.chain_unsupported', 'explorer.chain_unsupported'],
  [{ chainid: ['1', '137'] }, 'explorer.chain_unsupported', 'explorer.chain_unsupported'],
  [{ chainid: '4326' }, 'explorer.chain_unavailable', 'explorer.chain_unsupported'],
]
for (const [query, list, funding] of cases) {
  test(`${JSON.stringify(query)}: label list ${list}, funding ${funding}`, () => {
    assert.equal(refusal(requireChainWithOpenList, query), list)
    assert.equal(refusal(requireServedChain, query), funding)
  })
}

test('label lists of unavailable chains are "temporarily unavailable"; their fundings work (spec section 8)', () => {
  assert.throws(
    () => requireChainWithOpenList({}, closed),
    (error: Fault) => /temporarily unavailable/.test(error.publicMessage),
  )
  assert.equal(refusal(requireServedChain, {}, closed), 'passes')
  assert.equal(
    refusal((query, at) => labelListV1.checkQuery?.(query, at), {}, closed),
    'explorer.chain_unavailable',
  )
})

test('an unsupported chain is a Fault, which the error format can render', () =>
  assert.throws(() => requireServedChain({ chainid: '5' }, context), Fault))
