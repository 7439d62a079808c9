// The entity behind one validator, spec 4.7.
import { type Check, expect, expectReply, refusal, same } from '../check.ts'
import { validatorsOf } from '../samples.ts'

const id = 'validators.metadata'

export const metadataChecks: readonly Check[] = [
  {
    id: 'validators.metadata.record',
    rule: 'spec 4.7',
    requirement: 'every key is there, and the record is that of the validator asked for',
    async run(site) {
      for (const index of await validatorsOf(site)) {
        const record = expectReply(id, await site.call(id, { validator_index_or_pubkey: index }))
        expect(record.validatorIndex === index, `asked for ${index}, got ${record.validatorIndex}`)
      }
    },
  },
  {
    id: 'validators.metadata.pubkey',
    rule: 'spec 4.7',
    requirement: 'the public key names the same validator, with and without 0x',
    async run(site) {
      const [index] = await validatorsOf(site)
      const byIndex = expectReply(id, await site.call(id, { validator_index_or_pubkey: index }))
      const bare = String(byIndex.validatorPubkey).replace(/^0x/, '')
      for (const name of [bare, `0x${bare}`])
        same(
          expectReply(id, await site.call(id, { validator_index_or_pubkey: name })),
          byIndex,
          `${name} gives another record`,
        )
    },
  },
  {
    id: 'validators.metadata.unknowns',
    rule: 'behaviour/validators.md#validator-metadata',
    requirement: 'lists that are not known are empty, never null; epochs in the far future are null',
    async run(site) {
      for (const index of await validatorsOf(site)) {
        const record = expectReply(id, await site.call(id, { validator_index_or_pubkey: index }))
        for (const name of ['nodeOperators', 'depositAddresses', 'dvtOperators'])
          expect(Array.isArray(record[name]), `${name} is ${record[name]}`)
        for (const name of ['activationEpoch', 'exitEpoch', 'withdrawableEpoch'])
          expect(record[name] === null || Number(record[name]) < 2 ** 53, `${name} is ${record[name]}`)
      }
    },
  },
  {
    id: 'validators.metadata.unknown',
    rule: 'behaviour/validators.md#validator-metadata',
    requirement: 'an unknown validator is not found, a malformed name is a parameter problem, an unknown network too',
    async run(site) {
      const [index] = await validatorsOf(site)
      refusal(id, await site.call(id, { validator_index_or_pubkey: '999999999999' }), 'record.unknown')
      refusal(id, await site.call(id, { validator_index_or_pubkey: 'nonsense' }), 'input.invalid')
      refusal(id, await site.call(id, { validator_index_or_pubkey: index, network: 'elsewhere' }), 'input.invalid')
    },
  },
]
