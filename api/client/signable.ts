// Prepares typed data for signing libraries. Some reject types that the message does not use (EIP712Domain and
// MakerDetails); the digest does not depend on them.
import type { TypedData } from '../contract/wire/fx.ts'

type Used = 'Consideration' | 'TakerDetails' | 'TokenPermissions' | 'PermitWitnessTransferFrom'

export interface Signable extends Omit<TypedData, 'types' | 'primaryType'> {
  readonly types: Pick<TypedData['types'], Used>
  readonly primaryType: 'PermitWitnessTransferFrom'
}

/** Use as `const { domain, types, message } = signable(quote.typedData)`. */
export function signable({ domain, types, message }: TypedData): Signable {
  const { Consideration, TakerDetails, TokenPermissions, PermitWitnessTransferFrom } = types
  return {
    domain,
    types: { Consideration, TakerDetails, TokenPermissions, PermitWitnessTransferFrom },
    primaryType: 'PermitWitnessTransferFrom',
    message,
  }
}
