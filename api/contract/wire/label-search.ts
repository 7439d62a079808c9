// Endpoint of group A beyond the specification: search for labels by name (behaviour/explorer.md#label-search).
import { Address, Count, endpoint, integer, oneOf, type Static, Text, Type } from '../kit.ts'
import { envelope } from './explorer.ts'

export const FoundLabel = Type.Object({
  kind: oneOf(['entity', 'address'], { description: 'An entity, or an address with a name.' }),
  chainid: { ...Text, description: 'The chain of the entity or address.' },
  name: { ...Text, description: 'Name of the entity or address.' },
  slug: Type.Optional(Type.String({ description: 'Slug of the entity, or of the entity that owns the address.' })),
  address: Type.Optional({ ...Address, description: 'The address; absent for an entity.' }),
  source: Type.Optional(Type.String({ description: 'Source of the name of an address.' })),
  confidence: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, description: 'Confidence in the name of an address, in percent.' }),
  ),
})
export type FoundLabel = Static<typeof FoundLabel>

export const labelSearch = endpoint('explorer.labelSearch', {
  summary: 'Search entities and named addresses by name, slug or start of the address.',
  notes:
    'Every search word must match the start of a word of the name or slug, or the start of the address. Case and accents are ignored. Exact matches come first, then matches at the start; entities come before addresses.',
  input: Type.Object({
    q: Type.String({ minLength: 1, maxLength: 200, description: 'Search words; only the first eight are used.' }),
    chainid: Type.Optional(Type.String({ description: 'Only this chain; default: all chains.' })),
    kind: Type.Optional(oneOf(['entity', 'address'], { description: 'Only entities, or only addresses.' })),
    limit: integer(20, 1, 50, 'Maximum number of results.'),
  }),
  reply: Type.Object({
    ...envelope(Type.Array(FoundLabel, { description: 'Best matches first.' })).properties,
    total: { ...Count, description: 'Number of matches, also beyond `limit`. An entity counts once per chain.' },
  }),
  faults: ['explorer.chain_unsupported', 'record.not_found'],
  example: {
    input: { q: 'cobalt exch', chainid: '1', limit: 2 },
    reply: {
      status: '1',
      message: 'OK',
      result: [
        { kind: 'entity', chainid: '1', name: 'Cobalt Exchange', slug: 'cobalt-exchange' },
        {
          kind: 'address',
          chainid: '1',
          name: 'Cobalt Exchange: hot wallet 4',
          slug: 'cobalt-exchange',
          address: '0x6710cd41c8b4216547566d1805701986e28eb702',
          source: 'registry',
          confidence: 95,
        },
      ],
      total: 6,
    },
  },
})
