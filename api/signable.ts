// Typed data as signing libraries want it. They add the domain type themselves and refuse types that the message never
// reaches (here EIP712Domain and MakerDetails); the digest does not depend on either.
import type { TypedData } from './wire/fx.ts'

type Used = 'Consideration' | 'TakerDetails' | 'TokenPermissions' | 'PermitWitnessTransferFrom'

export interface Signable extends Omit<TypedData, 'types' | 'primaryType'> {
  readonly types: Pick<TypedData['types'], Used>
  readonly primaryType: 'PermitWitnessTransferFrom'
}

/** `const { domain, types, message } = signable(quote.typedData)`, then sign. */
export function signable({ domain, types, message }: TypedData): Signable {
  const { Consideration, TakerDetails, TokenPermissions, PermitWitnessTransferFrom } = types
  return {
    domain,
    types: { Consideration, TakerDetails, TokenPermissions, PermitWitnessTransferFrom },
    primaryType: 'PermitWitnessTransferFrom',
    message,
  }
}
