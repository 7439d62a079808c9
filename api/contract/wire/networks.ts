// The beacon chain networks of group C: those of the specification, and any other name that a server has in its
// configuration. A file of its own, because threads that need only this load no schemas.
export const networks = ['mainnet', 'hoodi', 'holesky'] as const
export type Network = (typeof networks)[number] | (string & {})

export const networkNamePattern = '^[a-z][a-z0-9-]{0,31}$'

export const isNetworkName = (name: string): boolean => new RegExp(networkNamePattern).test(name)
