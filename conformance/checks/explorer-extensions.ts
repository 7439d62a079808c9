// Served chains, usage of the key and labels of addresses: extensions of group A. A server without them is not checked.
import { type Checks, expect, expectSame, membersOf, Skipped, toList } from '../check.ts'
import { findAddress } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const [chains, usage, tag, trail, fundings] = [
  'explorer.chainList',
  'explorer.apiLimit',
  'explorer.addressTag',
  'explorer.trail',
  'explorer.fundings',
] as const

/** An address that has a label, and its name: the end of the trail of the sample address. */
async function findLabelled(server: ServerUnderTest): Promise<{ address: unknown; name: unknown }> {
  const { result } = await server.fetchExtension(trail, { address: await findAddress(server) })
  const { end } = membersOf(result, 'result')
  const { reason, address, message } = membersOf(end, 'end')
  if (reason !== 'label') throw new Skipped('the trail of the sample address ends at no label')
  return { address, name: message }
}

export const explorerExtensionChecks: Checks = {
  'explorer.extension.chains': {
    rule: 'behaviour/explorer.md#served-chains',
    requirement: 'the list of chains needs no key, counts its chains and includes chain 1',
    async run(server) {
      const reply = await server.fetchExtension(chains, {}, { key: null })
      const ids = toList(reply.result, 'result').map(({ chainid }) => chainid)
      expect(reply.totalcount === ids.length, `totalcount is ${reply.totalcount} for ${ids.length} chains`)
      expect(new Set(ids).size === ids.length, 'a chain is listed twice')
      expect(ids.includes('1'), 'chain 1 is missing')
    },
  },
  'explorer.extension.usage': {
    rule: 'behaviour/explorer.md#usage-of-a-key',
    requirement: 'the calls used and left add up to the limit; without a limit both are null',
    async run(server) {
      const { result } = await server.fetchExtension(usage)
      const { creditsUsed, creditsAvailable, creditLimit } = membersOf(result, 'result')
      const left = creditLimit === null ? null : Math.max(0, Number(creditLimit) - Number(creditsUsed))
      expectSame(creditsAvailable, left, `creditsAvailable is ${creditsAvailable}, not ${left}`)
    },
  },
  'explorer.extension.address-tag': {
    rule: 'behaviour/explorer.md#label-of-an-address',
    requirement: 'the label of an address is that of trails, and malformed addresses are refused',
    async run(server) {
      const { address, name } = await findLabelled(server)
      const [record] = toList((await server.fetchExtension(tag, { address })).result, 'result')
      expect(record?.address === address, `the record is about ${record?.address}`)
      expect(record?.nametag === name, `nametag is "${record?.nametag}", the trail has "${name}"`)
      const [labels, slugs] = [record?.labels, record?.labels_slug] as unknown[][]
      expect(labels?.length === slugs?.length, 'labels and labels_slug have different lengths')
      await server.expectFailure(tag, { address: '0x12' }, 'input.invalid')
    },
  },
  'explorer.extension.fundings': {
    rule: 'behaviour/explorer.md#many-fundings',
    requirement: 'each address has a record in the order of the request, with the funding of 4.3 if it is known',
    async run(server) {
      const address = await findAddress(server)
      const unused = `0x${'7e57'.repeat(10)}`
      const addresses = [unused, `0x${address.slice(2).toUpperCase()}`, unused]
      const records = toList((await server.fetchExtension(fundings, { addresses })).result, 'result')
      expectSame(
        records.map((record) => record.address),
        [unused, address, unused],
        'the records are about other addresses',
      )
      const [none, known] = records
      if (known?.status === 'funded') {
        const { result } = await server.fetchReply('explorer.fundedBy', { address })
        expectSame(known.funding, result, 'the funding is not that of explorer.fundedBy')
      }
      expect(none?.status !== 'funded', 'an unused address is funded')
      const { body } = await server.call(fundings, { addresses: [address, '0x12'] })
      expect(membersOf(body, 'the reply').status === '0', 'a malformed address is accepted')
    },
  },
}
