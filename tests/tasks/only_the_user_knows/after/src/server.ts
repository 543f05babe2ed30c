export const port: number = 8443;
