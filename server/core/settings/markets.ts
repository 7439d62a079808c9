// Settings of group D.
import { Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

export const marketsSettings = section(
  {
    keyNeeded: withDefault(
      Type.Boolean({ description: 'Ask for a key (bearer or apikey); otherwise open to everyone.' }),
      false,
    ),
    anonymousPerSecond: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 100_000,
        description: 'Calls in any rolling second from one address without a key; 0: no limit.',
      }),
      100,
    ),
    cacheMegabytes: withDefault(
      Type.Integer({ minimum: 0, maximum: 65_536, description: 'Memory for answers that are kept ready.' }),
      64,
    ),
    maxAgeSeconds: withDefault(Type.Integer({ minimum: 0, description: 'Lifetime told to caches.' }), 5),
  },
  'Prediction markets.',
)
