// The entity behind one validator, spec 4.7.
import { type Checks, expect, expectSame } from '../check.ts'
import { validatorOf, validatorsOf } from '../samples.ts'

const id = 'validators.metadata'

export const metadataChecks: Checks = {
  'validators.metadata.record': {
    rule: 'spec 4.7',
    requirement: 'the record has every field and belongs to the requested validator',
    async run(server) {
      for (const index of await validatorsOf(server)) {
        const record = await server.fetchReply(id, { validator_index_or_pubkey: index })
        expect(record.validatorIndex === index, `requested ${index}, got ${record.validatorIndex}`)
      }
    },
  },
  'validators.metadata.pubkey': {
    rule: 'spec 4.7',
    requirement: 'the public key returns the same validator, with and without 0x',
    async run(server) {
      const byIndex = await server.fetchReply(id, await validatorOf(server))
      const bare = String(byIndex.validatorPubkey).replace(/^0x/, '')
      for (const name of [bare, `0x${bare}`]) {
        const byKey = await server.fetchReply(id, { validator_index_or_pubkey: name })
        expectSame(byKey, byIndex, `${name} returns another record`)
      }
    },
  },
  'validators.metadata.unknowns': {
    rule: 'behaviour/validators.md#validator-metadata',
    requirement: 'unknown lists are empty, never null; epochs in the far future are null',
    async run(server) {
      for (const index of await validatorsOf(server)) {
        const record = await server.fetchReply(id, { validator_index_or_pubkey: index })
        for (const name of ['nodeOperators', 'depositAddresses', 'dvtOperators'])
          expect(Array.isArray(record[name]), `${name} is ${record[name]}`)
        for (const name of ['activationEpoch', 'exitEpoch', 'withdrawableEpoch'])
          expect(record[name] === null || Number(record[name]) < 2 ** 53, `${name} is ${record[name]}`)
      }
    },
  },
  'validators.metadata.unknown': {
    rule: 'behaviour/validators.md#validator-metadata',
    requirement: 'an unknown validator is not found; a malformed key and an unknown network are validation errors',
    async run(server) {
      await server.expectFailure(id, { validator_index_or_pubkey: '999999999999' }, 'record.not_found')
      await server.expectFailure(id, { validator_index_or_pubkey: 'nonsense' }, 'input.invalid')
      await server.expectFailure(id, { ...(await validatorOf(server)), network: 'elsewhere' }, 'input.invalid')
    },
  },
}
