// First funding of an address, spec 4.3.
import { type Check, expect, expectReply, type Members, membersOf, refusal, Skipped, same } from '../check.ts'
import { findAddress } from '../samples.ts'

const id = 'explorer.fundedBy'
const burst = 6

const fundingOf = (body: Members): Members => membersOf(body.result, 'result')

export const fundingChecks: readonly Check[] = [
  {
    id: 'explorer.funding.record',
    rule: 'spec 4.3',
    requirement: 'a funded address gives the envelope with a funding record',
    async run(site) {
      const address = await findAddress(site)
      const { timeStamp, fundingAddress } = fundingOf(expectReply(id, await site.call(id, { address })))
      expect(String(timeStamp).length <= 10, `timeStamp ${timeStamp} is no Unix time in seconds`)
      expect(String(fundingAddress).toLowerCase() !== address.toLowerCase(), 'the address funded itself')
    },
  },
  {
    id: 'explorer.funding.default-chain',
    rule: 'spec 4.3',
    requirement: 'chainid left out means chain 1',
    async run(site) {
      const address = await findAddress(site)
      const plain = expectReply(id, await site.call(id, { address }))
      same(
        plain,
        expectReply(id, await site.call(id, { address, chainid: '1' })),
        'the answer differs from that of chainid=1',
      )
    },
  },
  {
    id: 'explorer.funding.letter-case',
    rule: 'behaviour/explorer.md#what-counts-as-funding',
    requirement: 'the address may be in any letter case; answers are lower-case',
    async run(site) {
      const address = await findAddress(site)
      const plain = expectReply(id, await site.call(id, { address }))
      const upper = `0x${address.slice(2).toUpperCase()}`
      same(expectReply(id, await site.call(id, { address: upper })), plain, 'upper case gives another answer')
      const { fundingAddress, fundingTxn } = fundingOf(plain)
      for (const text of [fundingAddress, fundingTxn])
        expect(text === String(text).toLowerCase(), `${text} is not lower-case`)
    },
  },
  {
    id: 'explorer.funding.address',
    rule: 'behaviour/explorer.md#error-responses',
    requirement: 'a malformed or missing address is told in the envelope, with HTTP 200',
    async run(site) {
      for (const address of ['', '0x12', `${'1'.repeat(40)}`, `0x${'g'.repeat(40)}`])
        refusal(id, await site.call(id, { address }), 'input.invalid')
    },
  },
  {
    id: 'explorer.funding.chain',
    rule: 'behaviour/explorer.md#chains',
    requirement: 'an unknown chain, and a list of chains, are unsupported',
    async run(site) {
      const address = `0x${'12'.repeat(20)}`
      for (const chainid of ['999999999', '1,137'])
        refusal(id, await site.call(id, { address, chainid }), 'explorer.chain_unsupported')
    },
  },
  {
    id: 'explorer.funding.nothing',
    rule: 'behaviour/explorer.md#no-data-found',
    requirement: 'an address without a funding is "No data found", or a failure that says why it is not known',
    async run(site) {
      const answered = await site.call(id, { address: `0x${'0123456789'.repeat(4)}` })
      expect(answered.status === 200, `status ${answered.status} instead of 200`)
      const body = membersOf(answered.body, 'the reply')
      if (body.status === '1') throw new Skipped('the made-up address has been funded')
      const isNothing = body.message === 'No data found' && Array.isArray(body.result) && body.result.length === 0
      const isExcuse = body.message === 'NOTOK' && typeof body.result === 'string' && body.result !== ''
      expect(body.status === '0' && (isNothing || isExcuse), `neither: ${answered.text.slice(0, 160)}`)
    },
  },
  {
    id: 'explorer.funding.limit',
    rule: 'spec 8',
    requirement:
      'of calls made at once no more than two pass in a second, whatever the plan; the others say when to come back',
    async run(site) {
      const address = `0x${'12'.repeat(20)}`
      await site.environment.sleep(1200)
      const answers = await Promise.all(Array.from({ length: burst }, () => site.call(id, { address }, { once: true })))
      const isRefused = (text: string) => /Max calls per sec/i.test(text)
      const refused = answers.filter(({ text }) => isRefused(text))
      expect(refused.length >= burst - 2, `${burst - refused.length} of ${burst} calls passed at once`)
      expect(refused.length < burst, 'none passed')
      for (const one of refused) refusal(id, one, 'limit.second')
      await site.environment.sleep(1200)
      expect(!isRefused((await site.call(id, { address }, { once: true })).text), 'a second later it is still refused')
    },
  },
]
