// Which PostgreSQL: one or several hosts of one installation, of which whichever takes writes is used.

export interface PostgresAddress {
  /** For faults and the log: hosts and database, nothing secret. */
  readonly name: string
  /** One address per host, in the order they are tried: the one that was good last comes first. */
  readonly addresses: string[]
  /** Tables are in a schema of their own, called after the state's schema and this; those of the state can be read as well. */
  readonly subschema?: string
}

const urlPattern = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(\/[^?#]*)?(.*)$/

/** `postgres://user:password@host1:5432,host2/name?options` */
export function parsePostgresUrl(url: string, subschema?: string): PostgresAddress {
  const [, head = '', hosts = '', database = '', rest = ''] = urlPattern.exec(url) ?? []
  return {
    name: `PostgreSQL at ${hosts}${database}`,
    ...(subschema !== undefined && { subschema }),
    addresses: hosts.split(',').map((host) => `${head}${host}${database}${rest}`),
  }
}
