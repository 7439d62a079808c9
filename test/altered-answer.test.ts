// The alterations themselves: each kind changes an answer, and a seed always makes the same change.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { type AlterationKind, AnswerAlterer, alterationKinds, reportText, valueAlterations } from './altered-answer.ts'
import { alterBy, openAlteringProxy } from './altering-proxy.ts'
import { LimitedNode } from './simulator/limited-node.ts'

const chain = new SimulatedChain({ seed: 'altered answer' })
chain.mine(12)
const node = new LimitedNode(chain)

const callOf = (id: number, block: number) => ({
  ...{ jsonrpc: '2.0', id, method: 'eth_getBlockByNumber' },
  params: [`0x${block.toString(16)}`, true],
})

/** The altered answer to the last request, a batch of two. The same block was requested before, with other content. */
async function alterBatch(kind: AlterationKind, seed: string) {
  const alterer = new AnswerAlterer(createSeededRandom(seed), 2, [kind])
  const requests = [callOf(1, 3), callOf(2, 9), [callOf(3, 9), callOf(4, 5)]].map((one) => JSON.stringify(one))
  const answers = []
  for (const [at, request] of requests.entries()) {
    node.laterSeconds = at
    const { status, text } = await node.respond(request)
    const answer = { status, type: 'application/json', body: text }
    answers.push({ answer, altered: alterer.next(request, answer) })
  }
  return { answers, report: alterer.report }
}

describe('each kind of alteration', () => {
  for (const kind of alterationKinds) {
    test(`${kind}: changes one answer, in the same way for the same seed`, async () => {
      const { answers, report } = await alterBatch(kind, 'one')
      assert.equal(report?.kind, kind)
      assert.deepEqual(answers[0]?.altered, answers[0]?.answer)
      assert.deepEqual(answers[1]?.altered, answers[1]?.answer)
      assert.notDeepEqual(answers[2]?.altered, answers[2]?.answer)
      assert.deepEqual(await alterBatch(kind, 'one'), { answers, report })
      assert.match(reportText(report), new RegExp(`^${kind} at .+ of `))
    })
  }
})

describe('answers that are not JSON', () => {
  const bytes = Buffer.from(Array.from({ length: 400 }, (_, at) => (at * 7) % 251))
  const samples = [
    { type: 'application/octet-stream', body: bytes, without: ['null', 'wrong type', 'hex case or padding'] },
    { type: 'text/event-stream', body: 'event: head\ndata: {"slot":"7"}\n\n', without: ['wrong type'] },
  ]
  for (const { type, body, without } of samples) {
    test(`${type}: most kinds change the body, in the same way for the same seed`, () => {
      for (const kind of valueAlterations.filter((name) => !without.includes(name))) {
        const alter = (seed: number) => {
          const alterer = new AnswerAlterer(createSeededRandom(`${kind} ${seed}`), 0, [kind])
          return { altered: alterer.next('/path', { status: 200, type, body }), report: alterer.report }
        }
        const seed = Array.from({ length: 20 }, (_, at) => at).find((at) => alter(at).report)
        if (seed === undefined) {
          assert.ok(['scientific notation', 'hex case or padding'].includes(kind), kind)
          continue
        }
        const { altered, report } = alter(seed)
        assert.equal(report?.kind, kind)
        assert.notDeepEqual(altered.body, body, kind)
        assert.deepEqual(alter(seed), { altered, report })
      }
    })
  }
})

test('after the source has recovered, nothing is altered', () => {
  const alterer = new AnswerAlterer(createSeededRandom('stopped'), 0)
  alterer.stop()
  const answer = { status: 200, type: 'application/json', body: '{"rate":"1.08"}' }
  assert.equal(alterer.next('/rates', answer), answer)
})

test('the proxy alters one answer of a source over HTTP', async () => {
  const url = await node.listen()
  await using proxy = await openAlteringProxy(url.replace(/\/$/, ''))
  proxy.alter(alterBy(new AnswerAlterer(createSeededRandom('proxy'), 1, ['other status'])))
  const statuses = []
  for (let id = 0; id < 3; id++) {
    const response = await fetch(proxy.url, { method: 'POST', body: JSON.stringify(callOf(id, 1)), redirect: 'manual' })
    statuses.push(response.status === 200)
    await response.text()
  }
  assert.deepEqual(statuses, [true, false, true])
  await node[Symbol.asyncDispose]()
})
