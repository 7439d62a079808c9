// A receipt of version 1, as a server signed it. Its rates have no sides.
import type { SignedReceipt } from '#api/contract/wire/fx-extensions.ts'

export const receiptOfVersion1: SignedReceipt = {
  receipt: {
    excluded: [
      {
        at: '2026-11-15T11:59:59.000Z',
        base: 'EUR',
        quote: 'USD',
        rate: '1.3100',
        source: 'c',
      },
    ],
    givenSide: 'from',
    mid: {
      denominator: '216850000',
      numerator: '200000000',
    },
    quote: {
      collateral: '0',
      createdAt: '2026-11-15T12:00:00.000Z',
      expiresAt: '2026-11-15T12:00:30.000Z',
      fee: '0.184368',
      from: {
        amount: '1000',
        currency: 'USDC',
        decimals: 6,
        tracks: 'USD',
      },
      id: '39b281a7-5485-416f-b32f-db9a503d05f8',
      rate: '0.921835370071477',
      sha256: 'a0c8d74ba1f8f111d09c700c27842f9420aac792108bacd7ae6ce600a2e4d253',
      tenor: 'instant',
      to: {
        amount: '921.835370',
        currency: 'EURC',
        decimals: 6,
        tracks: 'EUR',
      },
      type: 'tradable',
    },
    rates: [
      {
        at: '2026-11-15T11:59:59.000Z',
        base: 'EUR',
        quote: 'USD',
        rate: '1.0841',
        source: 'a',
      },
      {
        at: '2026-11-15T11:59:59.000Z',
        base: 'EUR',
        quote: 'USD',
        rate: '1.0844',
        source: 'b',
      },
    ],
    rounding: {
      collateral: 'up',
      fee: 'up',
      from: 'up',
      fromPlaces: 6,
      rateDigits: 15,
      to: 'down',
      toPlaces: 6,
    },
    terms: {
      collateralPpm: 0,
      feePpm: 200,
      outlierPpm: 20000,
      spreadPpm: 500,
    },
    version: '1',
    via: null,
  },
  signature: {
    algorithm: 'Ed25519',
    keyId: '10a9eb94baa91e03',
    publicKey: 'dz0iEx4UkdIe2DIfxb9Mz3218KF7B3fHZ22LAb-srbI',
    value: '9oCpN4rvSp7PbOc8mRg5nnS6wiqIq7NZGSQ1OSTRrSYbfuyVqUiwjvM2P9AfVQ8s_945Ak2WZ1YMw8JdthvVAg',
  },
}
