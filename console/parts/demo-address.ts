// The example address of the start page while the server runs the demo.

/** Its money can be traced back to a name. */
export const demoAddress = '0xaa5993de8a2532c51b64aacd03c7b65f736f7643'
