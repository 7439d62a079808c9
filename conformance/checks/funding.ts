// First funding of an address, spec 4.3.
import { type Checks, expect, expectFailure, expectSame, type Members, membersOf, Skipped } from '../check.ts'
import { findAddress } from '../samples.ts'

const id = 'explorer.fundedBy'
const burst = 6

const fundingOf = (body: Members): Members => membersOf(body.result, 'result')

export const fundingChecks: Checks = {
  'explorer.funding.record': {
    rule: 'spec 4.3',
    requirement: 'a funded address returns a funding record',
    async run(server) {
      const address = await findAddress(server)
      const { timeStamp, fundingAddress } = fundingOf(await server.fetchReply(id, { address }))
      expect(String(timeStamp).length <= 10, `timeStamp ${timeStamp} is not a Unix time in seconds`)
      expect(String(fundingAddress).toLowerCase() !== address.toLowerCase(), 'the address funded itself')
    },
  },
  'explorer.funding.default-chain': {
    rule: 'spec 4.3',
    requirement: 'the default chainid is 1',
    async run(server) {
      const address = await findAddress(server)
      const plain = await server.fetchReply(id, { address })
      const explicit = await server.fetchReply(id, { address, chainid: '1' })
      expectSame(plain, explicit, 'the response differs from that of chainid=1')
    },
  },
  'explorer.funding.letter-case': {
    rule: 'behaviour/explorer.md#what-counts-as-funding',
    requirement: 'the address may be in any letter case; responses are lower-case',
    async run(server) {
      const address = await findAddress(server)
      const plain = await server.fetchReply(id, { address })
      const upper = `0x${address.slice(2).toUpperCase()}`
      const byUpper = await server.fetchReply(id, { address: upper })
      expectSame(byUpper, plain, 'an upper-case address returns another response')
      const { fundingAddress, fundingTxn } = fundingOf(plain)
      for (const text of [fundingAddress, fundingTxn])
        expect(text === String(text).toLowerCase(), `${text} is not lower-case`)
    },
  },
  'explorer.funding.address': {
    rule: 'behaviour/explorer.md#error-responses',
    requirement: 'a malformed or missing address is an error in the envelope, with HTTP 200',
    async run(server) {
      for (const address of ['', '0x12', `${'1'.repeat(40)}`, `0x${'g'.repeat(40)}`])
        await server.expectFailure(id, { address }, 'input.invalid')
    },
  },
  'explorer.funding.chain': {
    rule: 'behaviour/explorer.md#chains',
    requirement: 'an unknown chain and a list of chains are unsupported',
    async run(server) {
      const address = `0x${'12'.repeat(20)}`
      for (const chainid of ['999999999', '1,137'])
        await server.expectFailure(id, { address, chainid }, 'explorer.chain_unsupported')
    },
  },
  'explorer.funding.nothing': {
    rule: 'behaviour/explorer.md#no-data-found',
    requirement: 'an address without a funding returns "No data found", or an error with a reason',
    async run(server) {
      const response = await server.call(id, { address: `0x${'0123456789'.repeat(4)}` })
      expect(response.status === 200, `status ${response.status} instead of 200`)
      const body = membersOf(response.body, 'the reply')
      if (body.status === '1') throw new Skipped('the made-up address has a funding')
      const isNotFound = body.message === 'No data found' && Array.isArray(body.result) && body.result.length === 0
      const isError = body.message === 'NOTOK' && typeof body.result === 'string' && body.result !== ''
      expect(
        body.status === '0' && (isNotFound || isError),
        `neither "No data found" nor an error: ${response.text.slice(0, 160)}`,
      )
    },
  },
  'explorer.funding.limit': {
    rule: 'spec 8',
    requirement: 'at most two calls per second are accepted, for any plan; others get a retry-after header',
    async run(server) {
      const address = `0x${'12'.repeat(20)}`
      await server.environment.sleep(1200)
      const responses = await Promise.all(
        Array.from({ length: burst }, () => server.call(id, { address }, { once: true })),
      )
      const isRefused = (text: string) => /Max calls per sec/i.test(text)
      const refused = responses.filter(({ text }) => isRefused(text))
      expect(refused.length >= burst - 2, `${burst - refused.length} of ${burst} calls were accepted at once`)
      expect(refused.length < burst, 'no call was accepted')
      for (const response of refused) expectFailure(id, response, 'limit.second')
      await server.environment.sleep(1200)
      expect(
        !isRefused((await server.call(id, { address }, { once: true })).text),
        'calls are still refused a second later',
      )
    },
  },
}
